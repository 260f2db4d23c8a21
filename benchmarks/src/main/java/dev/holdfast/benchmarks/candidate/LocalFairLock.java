package dev.holdfast.benchmarks.candidate;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** A fair lock of the JVM, which bounds what a hand-off between threads can reach. */
final class LocalFairLock implements Candidate {

    @Override
    public String name() {
        return "fair-reentrantlock";
    }

    @Override
    public Role role() {
        return Role.REFERENCE;
    }

    @Override
    public boolean spansProcesses() {
        return false;
    }

    @Override
    public Session open(String address) {
        Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return NamedLock.of(locks.computeIfAbsent(name, unused -> new ReentrantLock(true)));
            }

            @Override
            public void close() {}
        };
    }
}
