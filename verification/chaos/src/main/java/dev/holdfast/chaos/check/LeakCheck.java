package dev.holdfast.chaos.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Nothing stays after close: neither threads in the process, nor a held lock or a place in a queue on the server. */
public final class LeakCheck implements Check {
    /** The name. */
    public static final String NAME = "L leaks";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>(evidence.leftBehind());
        evidence.history().ends().forEach((process, threads) -> {
            if (threads > 0) {
                violations.add("client " + process + " left " + threads + " threads behind; its log names them");
            }
        });
        long closed = evidence.history().ends().size();
        return Result.of(NAME, violations, Map.of("closed clients", closed), closed, "no client was closed");
    }
}
