package dev.holdfast.lock.testkit.support;

import java.util.ArrayDeque;
import java.util.Deque;

/** Things to close, the latest first. One that cannot be closed does not keep the others open. */
public final class CleanUps {
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();

    public void add(AutoCloseable resource) {
        resources.push(resource);
    }

    /** Closes all; throws the first failure, with the others suppressed. */
    public void run() throws Exception {
        Exception first = null;
        while (!resources.isEmpty()) {
            try {
                resources.pop().close();
            } catch (Exception e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
