package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Share;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.spi.Identity;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A row that was read, or that will be written. Times are the database's, in milliseconds since 1970. Immutable.
 *
 * @param name the lock's name
 * @param exists false if there is no such row yet
 * @param owner as in the row; empty if it has no owner
 * @param token of the last grant; 0 if there is no row
 * @param expiresMillis as in the row, rounded down
 * @param sinceMillis as in the row
 * @param holder as in the row: who owns it, if it is one
 * @param text as in the column {@code shares}
 * @param nowMillis the time of the reading, rounded down
 * @param live whether the expiry was not reached
 * @param shared who holds and waits now
 */
public record RowState(
        String name,
        boolean exists,
        String owner,
        long token,
        long expiresMillis,
        long sinceMillis,
        String holder,
        String text,
        long nowMillis,
        boolean live,
        SharedRow shared) {

    /** What was read, with those who hold and wait now. Some databases return null for an empty text. */
    public static RowState read(
            String name,
            @Nullable String ownerOrNull,
            long token,
            long expiresMillis,
            long sinceMillis,
            @Nullable String holderOrNull,
            @Nullable String textOrNull,
            long nowMillis,
            boolean live) {
        String owner = Objects.toString(ownerOrNull, "");
        String holder = Objects.toString(holderOrNull, "");
        String text = Objects.toString(textOrNull, "");
        SharedRow written = SharedRow.of(text);
        boolean many = live && owner.equals(RowOwners.SHARED);
        SharedRow kept = many ? written : new SharedRow(written.limit(), written.mark(), List.of());
        SharedRow now = kept.at(nowMillis, token);
        if (live && !many && owner.startsWith(RowOwners.READER)) {
            // It was read rounded down, and may be valid for that long.
            now = now.with(new Share(
                    owner.substring(RowOwners.READER.length()),
                    Demand.SHARED,
                    0,
                    token,
                    expiresMillis + 1,
                    sinceMillis,
                    holder));
        }
        return new RowState(name, true, owner, token, expiresMillis, sinceMillis, holder, text, nowMillis, live, now);
    }

    /** One lock owns it. */
    boolean isExclusive() {
        return live && !owner.isEmpty() && !owner.startsWith(RowOwners.READER);
    }

    Optional<HolderInfo> exclusiveHolder() {
        return isExclusive()
                ? Optional.of(Identity.decode(holder).holderInfo(token, Instant.ofEpochMilli(sinceMillis)))
                : Optional.empty();
    }

    /** With other holders. */
    RowState held(SharedRow next, long nextToken) {
        return new RowState(
                name,
                exists,
                next.shares().isEmpty() ? "" : RowOwners.SHARED,
                nextToken,
                Math.max(nowMillis, next.endMillis()),
                sinceMillis,
                holder,
                next.text(),
                nowMillis,
                true,
                next);
    }

    /** With another limit or mark, and the same holders. */
    RowState marked(SharedRow next) {
        boolean one = live && owner.startsWith(RowOwners.READER) && !owner.equals(RowOwners.SHARED);
        SharedRow written = one || isExclusive() ? new SharedRow(next.limit(), next.mark(), List.of()) : next;
        return new RowState(
                name, exists, owner, token, expiresMillis, sinceMillis, holder, written.text(), nowMillis, live, next);
    }
}
