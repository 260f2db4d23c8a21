package dev.holdfast.examples.spring;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** A job that each instance starts at the same time and one runs. */
@Component
public class NightlyReport {
    private final DistributedLock lock;
    private final AtomicInteger runs = new AtomicInteger();

    NightlyReport(LockClient locks) {
        lock = locks.lock(
                "jobs/nightly-report",
                LockOptions.builder()
                        .lease(Duration.ofSeconds(30))
                        .maxHold(Duration.ofHours(1))
                        .minHold(Duration.ofMinutes(5))
                        .build());
    }

    /** Runs the report, unless another instance runs it or has just run it. */
    @Scheduled(cron = "0 0 3 * * *")
    public void run() {
        Optional<Lease> free = lock.tryAcquire();
        if (free.isPresent()) {
            try (Lease lease = free.get()) {
                lease.ensure(Duration.ofSeconds(10)); // throws if it was lost meanwhile
                runs.incrementAndGet();
            }
        }
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
