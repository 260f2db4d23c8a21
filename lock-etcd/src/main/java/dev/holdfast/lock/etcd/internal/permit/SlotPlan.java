package dev.holdfast.lock.etcd.internal.permit;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import java.util.List;

/**
 * Additional slot writes of the next write for permits, as computed by {@link PermitSlots}. Each part has its own
 * condition at the time of the write, so an outdated or late plan does no harm. Immutable.
 *
 * @param from the present slot of the own key
 * @param to its new slot
 * @param because the conditions, in addition to the own key having the present slot
 * @param ahead writes of other keys' slots
 */
public record SlotPlan(int from, int to, List<Cmp> because, List<Op> ahead) {}
