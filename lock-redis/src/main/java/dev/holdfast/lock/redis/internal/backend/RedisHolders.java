package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.spi.Identity;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Reads who holds a lock, or waits for it, from the answers of scripts. Other content of a key is shown unchanged. Stateless. */
final class RedisHolders {
    private static final Identity UNKNOWN = new Identity("", "", 0);

    private RedisHolders() {}

    /** Reads {@link RedisDemandScripts#HOLDERS}, or the beginning of a longer answer: the lowest token first. */
    static List<HolderInfo> of(List<Object> reply) {
        String kind = String.valueOf(reply.get(0));
        String who = String.valueOf(reply.get(2));
        if (kind.equals("-")) {
            return List.of();
        }
        if (kind.equals("x")) {
            return List.of(alone(who));
        }
        List<HolderInfo> holders = new ArrayList<>();
        for (String line : who.split("\n", -1)) {
            if (!line.isEmpty()) {
                holders.add(oneOfMany(kind, number(String.valueOf(reply.get(1))), line));
            }
        }
        holders.sort(Comparator.comparingLong(HolderInfo::token));
        return holders;
    }

    /** Reads {@link RedisDemandScripts#LISTED}. */
    static List<HolderInfo> waiters(List<Object> reply) {
        List<HolderInfo> waiters = new ArrayList<>();
        for (int i = 3; i + 1 < reply.size(); i += 2) {
            long micros = (long) Double.parseDouble(String.valueOf(reply.get(i)));
            String[] asks = String.valueOf(reply.get(i + 1)).split(" ", -1);
            Demand demand = asks.length == 3 ? demand(asks[0], number(asks[1]), number(asks[2])) : Demand.EXCLUSIVE;
            waiters.add(UNKNOWN.holderInfo(0, Instant.ofEpochMilli(micros / 1000), demand, 0));
        }
        return waiters;
    }

    private static HolderInfo alone(String state) {
        String[] parts = state.split(" ", 8);
        if (parts.length < 8 || !parts[3].matches("\\d{1,16}") || !parts[6].matches("\\d{1,15}")) {
            return new Identity(state, "", 0).holderInfo(0, Instant.EPOCH);
        }
        Instant since = Instant.ofEpochMilli(Long.parseLong(parts[6]));
        return Identity.decode(parts[7]).holderInfo(Long.parseLong(parts[3]), since);
    }

    /** A line of the record. */
    private static HolderInfo oneOfMany(String kind, long limit, String line) {
        String[] fields = line.split("\t", 3);
        String[] parts = fields.length < 3 ? new String[0] : fields[2].split(" ", 6);
        if (parts.length < 6 || !parts[1].matches("\\d{1,16}") || !parts[4].matches("\\d{1,15}")) {
            return new Identity(line, "", 0).holderInfo(0, Instant.EPOCH);
        }
        Demand demand = demand(kind, number(parts[0]), limit);
        return Identity.decode(parts[5])
                .holderInfo(
                        Long.parseLong(parts[1]),
                        Instant.ofEpochMilli(Long.parseLong(parts[4])),
                        demand,
                        demand instanceof Demand.Permits ? (int) number(fields[1]) : 0);
    }

    /** Of permits that are held from before the limit was lowered, the limit is shown as high as they need it. */
    private static Demand demand(String kind, long permits, long limit) {
        if (!kind.equals("p")) {
            return Demand.SHARED;
        }
        int shown = (int) Math.max(1, Math.min(permits, Demand.MAX_PERMITS));
        return new Demand.Permits(shown, (int) Math.max(shown, Math.min(limit, Demand.MAX_PERMITS)));
    }

    private static long number(String text) {
        return text.matches("\\d{1,9}") ? Long.parseLong(text) : 0;
    }
}
