package dev.holdfast.lock.cli;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.StoreFinding;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Checks a store by using it, and asks it about its settings. */
final class Checkup {
    private static final String NAME = "holdfast/doctor";
    private static final int PAIRS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration CLOCK_TOLERANCE = Duration.ofSeconds(5);

    private final LockClient client;

    Checkup(LockClient client) {
        this.client = client;
    }

    List<StoreFinding> run() throws InterruptedException {
        List<StoreFinding> findings = new ArrayList<>();
        findings.addAll(pairs());
        findings.add(listing());
        findings.addAll(client.examine());
        return findings;
    }

    /** Acquires and releases repeatedly; the first pairs warm up this process and the store. */
    private List<StoreFinding> pairs() throws InterruptedException {
        long[] nanos = new long[PAIRS];
        Instant before = Instant.now();
        Optional<HolderInfo> holder = Optional.empty();
        Instant after = before;
        for (int i = 0; i < PAIRS; i++) {
            long begun = System.nanoTime();
            Lease lease = client.lock(NAME).acquire(PATIENCE);
            long acquired = System.nanoTime();
            if (i == 0) {
                after = Instant.now();
                holder = client.holder(NAME);
            }
            long asked = System.nanoTime();
            lease.close();
            nanos[i] = System.nanoTime() - asked + acquired - begun;
        }
        Arrays.sort(nanos);
        List<StoreFinding> findings = new ArrayList<>();
        findings.add(StoreFinding.ok("a lock and its release take " + millis(nanos[PAIRS / 2]) + " (median of " + PAIRS
                + ", slowest " + millis(nanos[PAIRS - 1]) + ")"));
        if (holder.isPresent()) {
            findings.add(clock(before, holder.get().since(), after));
        }
        return findings;
    }

    /** If both clocks are right, the server's time of the grant lies between two times of ours. */
    private static StoreFinding clock(Instant before, Instant granted, Instant after) {
        Duration off = Duration.ZERO;
        if (granted.isBefore(before)) {
            off = Duration.between(granted, before);
        } else if (granted.isAfter(after)) {
            off = Duration.between(after, granted);
        }
        if (off.compareTo(CLOCK_TOLERANCE) <= 0) {
            return StoreFinding.ok("the clocks of the store and of this host differ by "
                    + (off.toMillis() < 1000 ? "less than a second" : off.toSeconds() + " s"));
        }
        return StoreFinding.warning(
                "the clocks of the store and of this host differ by " + off.toSeconds()
                        + " s; leases do not depend on that, but jobs with a minHold and people who read times do",
                "synchronise both with NTP: timedatectl set-ntp true");
    }

    private StoreFinding listing() {
        try {
            int locks = client.list("", 1000).locks().size();
            return StoreFinding.ok("locks in use: " + locks);
        } catch (LockConfigurationException e) {
            return StoreFinding.ok("'holdfast ls' does not work here: " + e.getMessage());
        } catch (LockException e) {
            return StoreFinding.warning("locks cannot be listed: " + e.getMessage(), "try 'holdfast ls' with a prefix");
        }
    }

    static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.1f ms", nanos / 1e6);
    }
}
