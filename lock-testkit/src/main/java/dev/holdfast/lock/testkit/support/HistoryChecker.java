package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.Lease;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Records who claimed a lock and when, and finds contradictory claims. Thread-safe.
 *
 * <p>A claim reaches from when the acquisition had returned to the last instant at which its lease was still
 * {@linkplain Lease#isValid() valid} and not being released. The instant is read before the lease is asked, so that a
 * pause between the two shortens the claim and never invents an overlap. Two rules:
 * <ul>
 *   <li><b>S1</b> claims of one name are disjoint;
 *   <li><b>S2</b> in their order, their fencing tokens strictly rise.
 * </ul>
 *
 * <p>All instants come from one monotonic clock; {@code System.nanoTime} may be compared between processes of one Linux
 * host, so claims of several processes can be checked together.
 */
public final class HistoryChecker {
    private final LongSupplier ticker;
    private final Queue<Claim> claims = new ConcurrentLinkedQueue<>();

    /** Makes a checker on this process's monotonic clock. */
    public HistoryChecker() {
        this(System::nanoTime);
    }

    /**
     * Makes a checker on another clock.
     *
     * @param nanoTicker a monotonic clock in nanoseconds; thread-safe
     */
    public HistoryChecker(LongSupplier nanoTicker) {
        this.ticker = nanoTicker;
    }

    /**
     * Records that a lock was acquired. Call it as soon as the acquisition has returned.
     *
     * @param lease the lease
     * @return the claim, to be {@linkplain Claim#confirm() confirmed} until right before the release
     */
    public Claim acquired(Lease lease) {
        long startNanos = ticker.getAsLong();
        Claim claim = new Claim(lease, startNanos);
        claims.add(claim);
        return claim;
    }

    /**
     * Adds a claim of somewhere else.
     *
     * @param name the lock's name
     * @param token the fencing token
     * @param startNanos when its acquisition had returned
     * @param endNanos the last instant at which it was valid, not before {@code startNanos}
     */
    public void add(String name, long token, long startNanos, long endNanos) {
        if (endNanos - startNanos < 0) {
            throw new IllegalArgumentException(
                    "claim of '" + name + "' with token " + token + " ends before it starts");
        }
        claims.add(new Claim(name, token, startNanos, endNanos));
    }

    /**
     * Returns how many claims were recorded and confirmed at least once.
     *
     * @return the number of claims that can contradict others
     */
    public long confirmedClaims() {
        return claims.stream().filter(claim -> claim.confirmed).count();
    }

    /**
     * Checks all claims against each other. Call it when recording has ended.
     *
     * @return what contradicts, in words; empty if nothing does
     */
    public List<String> violations() {
        Map<String, List<Claim>> byName = new TreeMap<>();
        for (Claim claim : claims) {
            if (claim.confirmed) {
                byName.computeIfAbsent(claim.name, any -> new ArrayList<>()).add(claim);
            }
        }
        List<String> violations = new ArrayList<>();
        for (List<Claim> ofName : byName.values()) {
            check(ofName, violations);
        }
        return violations;
    }

    private static void check(List<Claim> claims, List<String> violations) {
        long origin = claims.get(0).startNanos;
        claims.sort(Comparator.comparingLong(claim -> claim.startNanos - origin));
        Claim latestEnd = claims.get(0);
        Claim highest = claims.get(0);
        for (Claim claim : claims.subList(1, claims.size())) {
            if (claim.startNanos - latestEnd.endNanos < 0) {
                violations.add("S1: " + claim.shown(origin) + " began while " + latestEnd.shown(origin) + " was valid");
            }
            if (claim.token <= highest.token) {
                violations.add("S2: " + claim.shown(origin) + " has no higher token than " + highest.shown(origin)
                        + ", which began before it");
            }
            if (claim.endNanos - latestEnd.endNanos > 0) {
                latestEnd = claim;
            }
            if (claim.token > highest.token) {
                highest = claim;
            }
        }
    }

    /** One claim. Confirmed by one thread at a time. */
    public final class Claim {
        private final BooleanSupplier valid;
        private final String name;
        private final long token;
        private final long startNanos;
        private volatile long endNanos;
        private volatile boolean confirmed;

        private Claim(Lease lease, long startNanos) {
            this.valid = lease::isValid;
            this.name = lease.name();
            this.token = lease.token();
            this.startNanos = startNanos;
            this.endNanos = startNanos;
        }

        private Claim(String name, long token, long startNanos, long endNanos) {
            this.valid = () -> false;
            this.name = name;
            this.token = token;
            this.startNanos = startNanos;
            this.endNanos = endNanos;
            this.confirmed = true;
        }

        /**
         * Claims the lock for this instant, if the lease is valid. Call it while the lock is used, and right before its
         * release.
         *
         * @return whether the lease is valid
         */
        public boolean confirm() {
            long nowNanos = ticker.getAsLong();
            if (!valid.getAsBoolean()) {
                return false;
            }
            endNanos = nowNanos;
            confirmed = true;
            return true;
        }

        private String shown(long origin) {
            return String.format(
                    "'%s' token %d [%.3f ms, %.3f ms]",
                    name, token, (startNanos - origin) / 1e6, (endNanos - origin) / 1e6);
        }
    }
}
