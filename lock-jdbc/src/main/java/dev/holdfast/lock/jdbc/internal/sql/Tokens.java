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
 * <p>A sequence that was lost or restarted returns numbers that are not above the row's token. The expression then exceeds
 * the range of a token, so that the statement fails and changes nothing.
 *
 * @param first the token of a name without a row
 * @param following the token after another one, which stands as {@code %1$s}
 * @param rowsGo whether rows may be deleted when they have not been used for long
 */
public record Tokens(String first, String following, boolean rowsGo) {

    /** The token that follows the one in that column. */
    public String next(String column) {
        return following.formatted(column);
    }
}
