package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A leader is revoked exactly once for each time that it was elected, and never otherwise; before it is elected again; and no
 * two callbacks of one candidate run at the same time. A process that was killed may have been elected and not revoked, last.
 */
public final class CallbackCheck implements Check {
    /** The name. */
    public static final String NAME = "E callbacks";

    /** Who stands: one thread of a process. */
    private record Candidate(Operation.Process process, int thread) {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Map<Candidate, Operation> open = new HashMap<>();
        long terms = 0;
        for (Operation operation : evidence.history().operations()) {
            if (operation.together > 0) {
                violations.add(operation + ": a callback was called while another one ran");
            }
            boolean elected = operation.acquired != Operation.NEVER;
            if (operation.revocations > (elected ? 1 : 0)) {
                violations.add(operation + (elected ? "" : " was never elected, and") + " was revoked "
                        + operation.revocations + " times");
            }
            if (elected && isElection(operation)) {
                terms++;
                Operation before = open.remove(new Candidate(operation.process, operation.thread));
                if (before != null) {
                    violations.add(operation + " was elected before it was revoked as " + before);
                }
                if (operation.revocations == 0) {
                    open.put(new Candidate(operation.process, operation.thread), operation);
                }
            }
        }
        open.forEach((candidate, operation) -> {
            if (evidence.history().ends().containsKey(candidate.process())) {
                violations.add(operation + " was elected and never revoked, although its process ended in order");
            }
        });
        return Result.of(NAME, violations, Map.of("leaderships", terms), terms, "nobody was elected");
    }

    private static boolean isElection(Operation operation) {
        return operation.kind == dev.holdfast.chaos.history.OpKind.LOCK;
    }
}
