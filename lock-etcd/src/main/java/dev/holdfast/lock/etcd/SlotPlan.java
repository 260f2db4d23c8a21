package dev.holdfast.lock.etcd;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import java.util.List;

/**
 * What the next write for permits does besides, as {@link PermitSlots} has it: each part by a condition of its own, in the moment of
 * the write. So it does no harm however old the line is that it was made from, or however late it comes. Immutable.
 *
 * @param from the slot that the own key says now
 * @param to the slot that it is to say
 * @param because when: what must be true, beside the own key's saying that
 * @param ahead writes of the slots of others
 */
record SlotPlan(int from, int to, List<Cmp> because, List<Op> ahead) {}
