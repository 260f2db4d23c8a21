package dev.holdfast.chaos.fault;

import dev.holdfast.lock.testkit.server.network.Direction;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Draws faults. The same seed, length and profile give the same faults at the same times. */
public final class Schedule {
    private Schedule() {}

    /**
     * Draws the faults of a run.
     *
     * @param seed of all draws
     * @param lengthMillis how long the run is
     * @param profile how often what
     * @return the faults in the order of their times
     */
    public static List<Fault> draw(long seed, long lengthMillis, Profile profile) {
        SplittableRandom random = new SplittableRandom(seed);
        List<Fault> faults = new ArrayList<>();
        List<FaultKind> urn = new ArrayList<>();
        profile.weights().entrySet().stream().sorted(Map.Entry.comparingByKey()).forEach(entry -> {
            for (int i = 0; i < entry.getValue(); i++) {
                urn.add(entry.getKey());
            }
        });
        long at = 0;
        while (!urn.isEmpty()) {
            Fault fault = draw(random, at, urn.get(random.nextInt(urn.size())), profile);
            if (at + fault.durationMillis() > lengthMillis) {
                return faults;
            }
            faults.add(fault);
            boolean overlapping = random.nextInt(5) == 0;
            long pause = random.nextInt(300, profile.pauseMillis());
            if (fault.kind() == FaultKind.CLIENT_KILL || faults.size() % profile.quietEvery() == 0) {
                pause = profile.quietMillis();
                overlapping = false;
            }
            at += (overlapping ? fault.durationMillis() / 2 : fault.durationMillis()) + pause;
        }
        return faults;
    }

    /** Half of what is late comes soon after its clients have gone on, when their old leases have not ended yet. */
    private static int reconnectMillis(SplittableRandom random, int duration) {
        return random.nextInt(2) == 0
                ? random.nextInt(20, Math.max(21, duration))
                : Math.max(20, duration - random.nextInt(100, 600));
    }

    private static Fault draw(SplittableRandom random, long at, FaultKind kind, Profile profile) {
        long lease = profile.leaseMillis();
        long duration = switch (kind) {
            case CLIENT_STOP, NET_BLACK_HOLE -> random.nextLong(lease / 5, 3 * lease);
            case CLIENT_KILL, NET_RESET -> 0;
            case SERVER_STOP -> random.nextLong(lease / 5, 2 * lease);
            case PEER_CUT, PEER_CUT_ONE_WAY, SLOW_DISK -> random.nextLong(lease / 2, 5 * lease);
            case LEADER_STOP -> random.nextLong(lease / 2, 4 * lease);
            case SERVER_KILL, LEADER_KILL -> random.nextLong(200, 2 * lease);
            case NET_HALF_OPEN, NET_LATENCY, NET_CUT -> random.nextLong(500, 2 * lease);
            case NET_LATE ->
                random.nextBoolean()
                        ? random.nextLong(lease / 4, 5 * lease / 2)
                        : random.nextLong(lease / 2, 5 * lease / 4); // when old leases end
            case NET_LATE_CUT -> random.nextLong(23 * lease / 5, 49 * lease / 10);
            case NET_DROP_REPLIES -> random.nextLong(200, lease);
            case SLOT_MOVE -> random.nextLong(500, 2 * lease);
        };
        Optional<Direction> direction = switch (random.nextInt(3)) {
            case 0 -> Optional.of(Direction.TO_SERVER);
            case 1 -> Optional.of(Direction.TO_CLIENT);
            default -> Optional.empty();
        };
        int amount = switch (kind) {
            case NET_LATENCY -> (int) Math.round(10 * Math.pow(200, random.nextDouble()));
            case SLOW_DISK -> (int) Math.round(50 * Math.pow(40, random.nextDouble()));
            case NET_LATE -> reconnectMillis(random, (int) duration);
            case NET_LATE_CUT -> random.nextInt((int) lease / 8, (int) lease * 2 / 5);
            default -> random.nextInt(20);
        };
        return new Fault(kind, at, duration, random.nextInt(1 << 20), direction, amount);
    }
}
