package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.spi.OwnerId;
import java.util.Set;

/**
 * What a renewal of many rows has done. Owners in neither set have lost their locks.
 *
 * @param renewed whose rows were renewed
 * @param skipped whose rows are held and not expired, and were not renewed because another session has them locked
 */
public record RenewedRows(Set<OwnerId> renewed, Set<OwnerId> skipped) {}
