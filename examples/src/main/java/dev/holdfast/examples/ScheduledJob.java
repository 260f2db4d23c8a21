package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A job that every instance of a cluster starts on the same schedule and only one is to run. The lock is held for a minimal
 * time, longer than the instances' clocks differ, so that one that is late does not run the job again.
 */
public final class ScheduledJob {
    private static final LockOptions ONCE_A_MINUTE = LockOptions.builder()
            .lease(Duration.ofSeconds(30)) // after a crash, others may run it this much later
            .maxHold(Duration.ofMinutes(10)) // a job that hangs is not renewed for ever
            .minHold(Duration.ofSeconds(50)) // a job that is short is still run once
            .build();

    private ScheduledJob() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        AtomicInteger runs = new AtomicInteger();
        try (LockClient first = client(address, "instance 1");
                LockClient second = client(address, "instance 2")) {
            ScheduledExecutorService cron = Executors.newScheduledThreadPool(2);
            ScheduledFuture<Boolean> one = cron.schedule(job(first, runs), 10, TimeUnit.MILLISECONDS);
            ScheduledFuture<Boolean> other = cron.schedule(job(second, runs), 10, TimeUnit.MILLISECONDS);
            System.out.println("exactly one instance ran it: " + (one.get() ^ other.get()));
            System.out.println("runs: " + runs);
            cron.shutdown();
        }
    }

    private static LockClient client(String uri, String who) {
        return LockClient.connect(uri, LockClientOptions.builder().who(who).build());
    }

    private static Callable<Boolean> job(LockClient client, AtomicInteger runs) {
        return () -> {
            Optional<Lease> lease = client.lock("jobs/report", ONCE_A_MINUTE).tryAcquire();
            if (lease.isEmpty()) {
                return false; // another instance runs it, or has just run it
            }
            try (Lease held = lease.get()) {
                runs.incrementAndGet();
                return held.isValid();
            }
        };
    }
}
