package dev.holdfast.examples.spring;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.NamedLockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** A job that each instance starts at the same time and one runs; {@code holdfast.locks.nightly} has its options. */
@Component
public class NightlyReport {
    private final DistributedLock lock;
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger runs = new AtomicInteger();

    NightlyReport(LockClient locks, NamedLockOptions options) {
        lock = locks.lock("jobs/nightly-report", options.get("nightly"));
    }

    /** Runs the report, unless another instance runs it or has just run it. */
    @Scheduled(cron = "${shop.report-cron}")
    public void run() {
        begun.incrementAndGet();
        Optional<Lease> free = lock.tryAcquire();
        if (free.isPresent()) {
            try (Lease lease = free.get()) {
                lease.ensure(Duration.ofSeconds(10)); // throws if it was lost meanwhile
                runs.incrementAndGet();
            }
        }
    }

    /**
     * Counts how often this instance's clock said that it is time.
     *
     * @return the number of calls
     */
    public int begun() {
        return begun.get();
    }

    /**
     * Counts what this instance did.
     *
     * @return the number of reports that it has made
     */
    public int runs() {
        return runs.get();
    }
}
