package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Optional;

/**
 * A nightly job that several instances start at the same minute and only one is to run. The lock is held for a minimal
 * time, so that an instance whose clock is late does not run the job again.
 */
public final class OnlyOneRuns {

    private OnlyOneRuns() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     */
    public static void main(String[] arguments) {
        LockOptions once = LockOptions.builder()
                .lease(Duration.ofSeconds(30))
                .minHold(Duration.ofSeconds(2))
                .build();
        try (LockClient first = LockClient.connect(arguments[0]);
                LockClient second = LockClient.connect(arguments[0])) {
            System.out.println("first instance: " + runIfAlone(first, once));
            System.out.println("second instance: " + runIfAlone(second, once));
        }
    }

    private static String runIfAlone(LockClient client, LockOptions once) {
        Optional<Lease> lease = client.lock("jobs/nightly", once).tryAcquire();
        if (lease.isEmpty()) {
            return "somebody else runs it";
        }
        try (Lease held = lease.get()) {
            return "ran it: " + held.isValid();
        }
    }
}
