package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;

/**
 * A place in a row's line, and how often who has it is to look where nobody calls: the first in the line often, at first, and the
 * less often the longer the row has been held; those behind it often enough to know when they are the first. All tickets of an
 * acquisition are equal.
 */
final class LineTicket implements Ticket {
    private static final long FIRST_MILLIS = 2;
    private static final long FIRST_AT_MOST_MILLIS = 250;
    private static final long NEXT_MILLIS = 4;
    private static final long NEXT_AT_MOST_MILLIS = 1_000;
    private static final int MOST_DOUBLINGS = 4;

    /** A look is that much of the time for which the row has been held, behind a release. */
    private static final long PART_OF_HOLD = 8;

    private static final int CALLED_PLACES = 4;

    private final OwnerId owner;
    private final long askAgainMillis;

    private LineTicket(OwnerId owner, long askAgainMillis) {
        this.owner = owner;
        this.askAgainMillis = askAgainMillis;
    }

    static LineTicket of(OwnerId owner, int place, long heldMillis) {
        long part = Math.max(0, heldMillis) / PART_OF_HOLD;
        long millis = place == 0
                ? Math.max(FIRST_MILLIS, Math.min(FIRST_AT_MOST_MILLIS, part))
                : Math.max(NEXT_MILLIS << Math.min(place - 1, MOST_DOUBLINGS), Math.min(NEXT_AT_MOST_MILLIS, part));
        return new LineTicket(owner, millis);
    }

    /**
     * How long after a release somebody who is not the first has to see whether those before it came: the second when the claim
     * has ended, the others ever later, since the second has looked by then; negative if it need not.
     */
    static long passedOverMillis(int place) {
        return place < 0
                ? WaitingLine.CLAIM_MILLIS
                : place >= CALLED_PLACES ? -1 : (WaitingLine.CLAIM_MILLIS + 5L) << 2 * Math.max(0, place - 1);
    }

    @Override
    public long askAgainMillis() {
        return askAgainMillis;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LineTicket ticket && ticket.owner.equals(owner);
    }

    @Override
    public int hashCode() {
        return owner.hashCode();
    }
}
