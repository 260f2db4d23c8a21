package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * What an attempt or a look saw of a row. Times are milliseconds by the database's clock. Immutable.
 *
 * @param owner as in the row; empty if nobody owns it
 * @param remainingMillis until the row's expiry, which for a free row is when it became free
 * @param waiters the line, see {@link WaitingLine}
 * @param heldMillis how long ago the last grant was
 */
record SeenRow(String owner, long remainingMillis, String waiters, long heldMillis) {
    /** The answer came without a look, or there was no row to be seen. */
    static final SeenRow UNKNOWN = new SeenRow("", -1, "", 0);

    /** The columns that {@link #read} reads. */
    static String columns(Dialect dialect) {
        return "COALESCE(owner, ''), " + dialect.millisUntil("expires") + ", " + WaitingLine.COLUMN + ", "
                + dialect.millisUntil("since");
    }

    /** Reads the columns, of which the first has the given number. */
    static SeenRow read(ResultSet rows, int first) throws SQLException {
        return new SeenRow(
                rows.getString(first), rows.getLong(first + 1), rows.getString(first + 2), -rows.getLong(first + 3));
    }

    boolean isFree() {
        return owner.isEmpty() || remainingMillis <= 0;
    }

    /** Readers have it, or some with permits. */
    boolean isBesideShares() {
        return owner.startsWith(RowStates.READER) && (remainingMillis > 0 || waiters.isEmpty());
    }

    boolean isMine(AcquisitionId acquisition) {
        return owner.equals(Bind.ownerOf(acquisition));
    }

    /** Whether it is kept for the first in its line. */
    private boolean isClaimed() {
        return isFree()
                && !waiters.isEmpty()
                && remainingMillis > -WaitingLine.CLAIM_MILLIS
                && remainingMillis < WaitingLine.AHEAD_MILLIS;
    }

    /** Whether an attempt may succeed. */
    boolean isFor(AcquisitionId acquisition) {
        return isMine(acquisition)
                || isFree() && (!isClaimed() || waiters.startsWith(WaitingLine.claimant(acquisition)));
    }

    int placeOf(AcquisitionId acquisition) {
        return WaitingLine.place(waiters, WaitingLine.entry(acquisition));
    }

    /** With an entry behind the others. */
    SeenRow with(AcquisitionId acquisition) {
        return new SeenRow(owner, remainingMillis, waiters + WaitingLine.entry(acquisition), heldMillis);
    }

    /** What to answer who did not get it. Who waits in the line has a ticket. */
    AcquireResult.Busy busy(AcquisitionId acquisition) {
        if (isBesideShares()) {
            return ExpiryRows.busy(Math.max(0, remainingMillis) + ExpiryRows.BESIDE_SHARES);
        }
        int place = placeOf(acquisition);
        AcquireResult.Busy busy = ExpiryRows.busy(
                isClaimed() && !isFor(acquisition)
                        ? LineTicket.passedOverMillis(place)
                        : owner.isEmpty() ? -1 : remainingMillis);
        return place < 0
                ? busy
                : new AcquireResult.Busy(busy.remainingMillis(), LineTicket.of(acquisition.owner(), place, heldMillis));
    }
}
