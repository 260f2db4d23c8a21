package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Identity;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a row keeps of shares and permits, as one text in its column {@code shares}: the limit, the mark of one who waits, and
 * who holds. Times are those of the database, in milliseconds since 1970. Immutable.
 *
 * <p><b>The mark</b> holds back those who come after one who waits. It ends by itself unless it is made again at each attempt. A
 * mark of a lock or of a share ends with the next grant of the name as well: then its turn was, or must be announced again.
 *
 * @param limit how many permits the name has; 0 if it is not set
 * @param mark who waits, or null
 * @param shares who holds, the lowest token first
 */
public record SharedRow(int limit, @Nullable Mark mark, List<Share> shares) {
    static final SharedRow NOTHING = new SharedRow(0, null, List.of());

    private static final int EXCLUSIVE = -1;

    /** One who waits. */
    record Mark(String owner, Demand demand, long untilMillis, long token) {

        boolean isValid(long nowMillis, long rowToken) {
            return untilMillis > nowMillis && (demand instanceof Demand.Permits || token == rowToken);
        }

        private String text() {
            return String.join(
                    ",", owner, "" + permits(demand), "" + limit(demand), Long.toString(untilMillis), "" + token);
        }

        private static Mark of(String text) {
            String[] parts = text.split(",", -1);
            return new Mark(parts[0], demandOf(parts[1], parts[2]), Long.parseLong(parts[3]), Long.parseLong(parts[4]));
        }
    }

    /** One who holds. */
    public record Share(
            String owner, Demand demand, int slot, long token, long expiresMillis, long sinceMillis, String holder) {

        HolderInfo info() {
            return Identity.decode(holder).holderInfo(token, Instant.ofEpochMilli(sinceMillis), demand, slot);
        }

        Share until(long millis) {
            return new Share(owner, demand, slot, token, millis, sinceMillis, holder);
        }

        private String text() {
            return String.join(
                    ",",
                    owner,
                    "" + permits(demand),
                    "" + limit(demand),
                    "" + slot,
                    Long.toString(token),
                    Long.toString(expiresMillis),
                    Long.toString(sinceMillis),
                    Base64.getUrlEncoder().withoutPadding().encodeToString(holder.getBytes(StandardCharsets.UTF_8)));
        }

        private static Share of(String text) {
            String[] parts = text.split(",", -1);
            return new Share(
                    parts[0],
                    demandOf(parts[1], parts[2]),
                    Integer.parseInt(parts[3]),
                    Long.parseLong(parts[4]),
                    Long.parseLong(parts[5]),
                    Long.parseLong(parts[6]),
                    new String(Base64.getUrlDecoder().decode(parts[7]), StandardCharsets.UTF_8));
        }
    }

    public SharedRow {
        shares = shares.stream().sorted(Comparator.comparingLong(Share::token)).toList();
    }

    /**
     * Reads what {@link #text} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    static SharedRow of(String text) {
        if (text.isEmpty()) {
            return NOTHING;
        }
        try {
            String[] parts = text.split(";", -1);
            return new SharedRow(
                    Integer.parseInt(parts[0]),
                    parts[1].isEmpty() ? null : Mark.of(parts[1]),
                    Stream.of(parts).skip(2).map(Share::of).toList());
        } catch (ArrayIndexOutOfBoundsException | NumberFormatException e) {
            throw new IllegalArgumentException("the row's column 'shares' holds what is not ours", e);
        }
    }

    public String text() {
        if (equals(NOTHING)) {
            return "";
        }
        return limit + ";" + (mark == null ? "" : mark.text())
                + shares.stream().map(share -> ";" + share.text()).collect(Collectors.joining());
    }

    private static int permits(Demand demand) {
        return demand instanceof Demand.Permits asked
                ? asked.permits()
                : demand instanceof Demand.Shared ? 0 : EXCLUSIVE;
    }

    private static int limit(Demand demand) {
        return demand instanceof Demand.Permits asked ? asked.limit() : 0;
    }

    private static Demand demandOf(String permits, String limit) {
        int number = Integer.parseInt(permits);
        return switch (number) {
            case EXCLUSIVE -> Demand.EXCLUSIVE;
            case 0 -> Demand.SHARED;
            default -> new Demand.Permits(number, Integer.parseInt(limit));
        };
    }

    /** Without those whose time has come. */
    SharedRow at(long nowMillis, long rowToken) {
        return new SharedRow(
                limit,
                mark != null && mark.isValid(nowMillis, rowToken) ? mark : null,
                shares.stream().filter(share -> share.expiresMillis > nowMillis).toList());
    }

    Optional<Share> share(String owner) {
        return shares.stream().filter(share -> share.owner.equals(owner)).findFirst();
    }

    boolean isMarkedBy(String owner) {
        return mark != null && mark.owner.equals(owner);
    }

    /** Whether what is held leaves room, and what another one waits for; the demand's own limit counts. */
    boolean hasRoomFor(AcquireRequest request) {
        Demand demand = request.demand();
        long permits = 0;
        List<Demand> taken = new ArrayList<>();
        shares.forEach(share -> taken.add(share.demand));
        if (mark != null && !isMarkedBy(request.acquisition().owner().toString())) {
            taken.add(mark.demand);
        }
        for (Demand each : taken) {
            if (each.kind() != demand.kind() || each instanceof Demand.Exclusive) {
                return false;
            }
            permits += Math.max(0, permits(each));
        }
        return !(demand instanceof Demand.Permits asked) || permits + asked.permits() <= asked.limit();
    }

    int freeSlot() {
        int slot = 1;
        for (int each : shares.stream().mapToInt(Share::slot).sorted().toArray()) {
            if (each == slot) {
                slot++;
            }
        }
        return slot;
    }

    /** The share in place of an earlier one of the same owner, which waits no longer. */
    SharedRow with(Share share) {
        SharedRow rest = without(share.owner);
        List<Share> all = new ArrayList<>(rest.shares);
        all.add(share);
        return new SharedRow(rest.limit, rest.mark, all);
    }

    SharedRow without(String owner) {
        return new SharedRow(
                limit,
                isMarkedBy(owner) ? null : mark,
                shares.stream().filter(share -> !share.owner.equals(owner)).toList());
    }

    SharedRow markedBy(Mark other) {
        return new SharedRow(limit, other, shares);
    }

    SharedRow limitedTo(int permits) {
        return new SharedRow(permits, mark, shares);
    }

    /** When the last of the shares ends; 0 if there is none. */
    long endMillis() {
        return shares.stream().mapToLong(Share::expiresMillis).max().orElse(0);
    }

    /** When the first of what stands in the way ends by itself; 0 if nothing does. */
    long firstEndMillis() {
        return Stream.concat(
                        shares.stream().map(Share::expiresMillis),
                        Stream.ofNullable(mark).map(Mark::untilMillis))
                .mapToLong(millis -> millis)
                .min()
                .orElse(0);
    }
}
