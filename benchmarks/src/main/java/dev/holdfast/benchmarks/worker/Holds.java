package dev.holdfast.benchmarks.worker;

import com.sun.management.OperatingSystemMXBean;
import dev.holdfast.benchmarks.contender.Session;
import java.lang.management.ManagementFactory;

/** Locks that are taken and kept, and what that costs. */
final class Holds {
    private final Session session;

    Holds(Session session) {
        this.session = session;
    }

    /** Takes {@code locks} locks in the calling thread and keeps them; tells when it had the last. */
    Fields hold(Fields order) throws Exception {
        long locks = order.number("locks");
        for (long i = 0; i < locks; i++) {
            session.lock(locks == 1 ? order.text("name") : order.text("name") + "-" + i)
                    .lock();
        }
        return new Fields("ok").with("nanos", System.nanoTime());
    }

    /** The process's CPU time so far. */
    static Fields cpu() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new Fields("ok").with("nanos", system.getProcessCpuTime());
    }
}
