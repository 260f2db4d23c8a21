package dev.holdfast.benchmarks.worker;

import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.Session;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Virtual threads that wait for one lock, which the calling thread holds until all of them have asked for it. */
final class VirtualThreads {
    private static final long PATIENCE_MINUTES = 3;
    private static final long SETTLE_MILLIS = 1_000;

    private final Session session;
    private final AtomicInteger asking = new AtomicInteger();

    VirtualThreads(Session session) {
        this.session = session;
    }

    Message run(Message order) throws Exception {
        int threads = (int) order.number("threads");
        NamedLock lock = session.lock(order.text("name"));
        lock.lock();
        long before = Holds.usedBytes();
        // By reflection: this is compiled for a JDK without virtual threads.
        ExecutorService executor = (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        List<Future<?>> futures = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            futures.add(executor.submit(() -> once(order.text("name"))));
        }
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(PATIENCE_MINUTES);
        while (asking.get() < threads && System.nanoTime() < end) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        TimeUnit.MILLISECONDS.sleep(SETTLE_MILLIS);
        long waiting = Holds.usedBytes() - before;
        long start = System.nanoTime();
        lock.unlock();
        for (Future<?> future : futures) {
            future.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
        return new Message("ok").with("nanos", System.nanoTime() - start).with("waiting-bytes", waiting);
    }

    private Object once(String name) throws Exception {
        NamedLock lock = session.lock(name);
        asking.incrementAndGet();
        lock.lock();
        lock.unlock();
        return name;
    }
}
