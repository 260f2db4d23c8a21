package dev.holdfast.benchmarks.worker;

import com.sun.management.OperatingSystemMXBean;
import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.Session;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/** Locks that are taken and kept, and what that costs. */
final class Holds {
    private static final int COLLECTIONS = 3;

    private final Session session;
    private final List<NamedLock> held = new ArrayList<>();

    Holds(Session session) {
        this.session = session;
    }

    /** Takes one lock in the calling thread and keeps it; reports when it was acquired. */
    Message hold(Message order) throws Exception {
        session.lock(order.text("name")).lock();
        return new Message("ok").with("nanos", System.nanoTime());
    }

    /** Uses {@code locks} names once, then holds {@code locks} others; reports the heap they use. */
    Message many(Message order) throws Exception {
        long locks = order.number("locks");
        String name = order.text("name");
        use(name + "-first");
        long before = usedBytes();
        for (long i = 0; i < locks; i++) {
            use(name + "-idle-" + i);
        }
        long idle = usedBytes();
        for (long i = 0; i < locks; i++) {
            NamedLock lock = session.lock(name + "-held-" + i);
            lock.lock();
            held.add(lock);
        }
        return new Message("ok").with("idle-bytes", idle - before).with("held-bytes", usedBytes() - idle);
    }

    private void use(String name) throws Exception {
        NamedLock lock = session.lock(name);
        lock.lock();
        lock.unlock();
        lock.close();
    }

    /** The heap that is in use after a garbage collection. */
    static long usedBytes() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** The process's CPU time so far. */
    static Message cpu() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new Message("ok").with("nanos", system.getProcessCpuTime());
    }
}
