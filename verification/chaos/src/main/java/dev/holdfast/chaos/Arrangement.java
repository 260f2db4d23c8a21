package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Check;
import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.fault.FaultKind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * After the faults of a run, sees to it that each check has a case: has a client die that holds what others wait for, has one
 * pause beyond its lease, or leaves the clients undisturbed for a while, whatever a check that had no case needs.
 */
final class Arrangement {
    /** The clients' histories of this moment. */
    @FunctionalInterface
    interface Now {
        Evidence evidence() throws IOException;
    }

    /** Does a fault to a client that holds locks. */
    @FunctionalInterface
    interface Provocation {
        void provoke(FaultKind kind, int client) throws InterruptedException;
    }

    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(120);
    private static final long LOOK_MILLIS = 1_000;

    private final List<Check> checks;
    private final int clients;
    private final Now now;
    private final Provocation provocation;
    private final List<String> done = new ArrayList<>();

    /**
     * @param checks what must be judged
     * @param clients how many there are
     * @param now the histories
     * @param provocation does a fault
     */
    Arrangement(List<Check> checks, int clients, Now now, Provocation provocation) {
        this.checks = checks;
        this.clients = clients;
        this.now = now;
        this.provocation = provocation;
    }

    /** Returns what was arranged, when every check has a case, or two minutes have passed. */
    List<String> run() throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < MAX_NANOS) {
            Evidence evidence = now.evidence();
            List<Check> missing = missing(evidence);
            if (missing.isEmpty()) {
                return done;
            }
            List<Check> provoked = missing.stream()
                    .filter(check -> check.provokedBy().isPresent())
                    .toList();
            if (!provoked.isEmpty() && evidence.isCalm(evidence.lengthNanos())) {
                Check next = provoked.get(done.size() % provoked.size());
                FaultKind kind = next.provokedBy().orElseThrow();
                done.add(kind + " for " + next.name());
                provocation.provoke(kind, done.size() % clients);
            } else {
                Thread.sleep(LOOK_MILLIS);
            }
        }
        return done;
    }

    private List<Check> missing(Evidence evidence) {
        return checks.stream()
                .filter(check -> {
                    Result result = check.check(evidence);
                    return !result.isJudged() && Verdict.isExpected(result);
                })
                .toList();
    }
}
