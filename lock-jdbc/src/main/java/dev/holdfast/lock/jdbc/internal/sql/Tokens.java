package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.jdbc.internal.expiring.Sweeper;

/**
 * Where fencing tokens come from, as SQL expressions. Immutable.
 *
 * <p>Counted in the row, they need the row to stay. Drawn from a sequence, they do not, provided that they are drawn under
 * the row's lock: else one that was drawn early, and then waited for the row, would be granted late. An update draws under
 * the lock (PostgreSQL draws again after a wait). An insert draws before it, so it is only used where there is no row, and
 * a row only goes away so long after its last use that no statement can be in flight: see {@link Sweeper}.
 *
 * @param first the token of a name without a row
 * @param generated the sequence's next value, or empty to count in the row
 * @param plusOne counts in the row
 */
public record Tokens(String first, String generated, String plusOne) {

    /** The token that follows the one in that column. */
    public String next(String column) {
        return rowsGo() ? generated : column + plusOne;
    }

    /** Whether rows may be deleted when they have not been used for long. */
    public boolean rowsGo() {
        return !generated.isEmpty();
    }
}
