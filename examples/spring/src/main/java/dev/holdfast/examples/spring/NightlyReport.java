package dev.holdfast.examples.spring;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.LockedJob;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** A job that each instance starts at the same time and one runs; {@code holdfast.locks.nightly} has its options. */
@Component
public class NightlyReport {
    private final AtomicInteger runs = new AtomicInteger();

    /** Creates it, which is Spring's to do. */
    public NightlyReport() {}

    /** Runs the report; where another instance runs it or has just run it, the call is skipped. */
    @Scheduled(cron = "${shop.report-cron}")
    @LockedJob(value = "jobs/nightly-report", options = "nightly")
    public void run() {
        CurrentLease.require().ensure(Duration.ofSeconds(10)); // throws if it was lost meanwhile
        runs.incrementAndGet();
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
