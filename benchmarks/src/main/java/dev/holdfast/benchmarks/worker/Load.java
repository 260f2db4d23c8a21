package dev.holdfast.benchmarks.worker;

import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.Session;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * Threads that acquire and release for some time: the cycle of all throughput and latency figures. One cycle is: acquire, hold (0
 * unless asked for), release, think (0 unless asked for). The time for a pair is that of acquiring and releasing, without hold and
 * think.
 */
final class Load {
    private static final long HIGHEST_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final long LATE_MINUTES = 3;
    /** Not counted: until all threads have woken up, the first ones have the lock to themselves. */
    private static final long RAMP_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    private final Session session;
    private final Message order;
    private final int threads;
    private final long holdNanos;
    private final long thinkNanos;
    private final boolean oneName;
    private final long windowNanos;
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger intrusions = new AtomicInteger();
    private volatile long countFrom;

    Load(Session session, Message order) {
        this.session = session;
        this.order = order;
        this.threads = (int) order.number("threads");
        this.holdNanos = TimeUnit.MICROSECONDS.toNanos(order.number("hold-micros", 0));
        this.thinkNanos = TimeUnit.MICROSECONDS.toNanos(order.number("think-micros", 0));
        this.oneName = order.number("one-name", 0) == 1;
        this.windowNanos = TimeUnit.MILLISECONDS.toNanos(order.number("millis"));
    }

    /** What one thread counted. */
    private static final class Count {
        final Histogram pairs = new Histogram(HIGHEST_NANOS, 3);
        final Histogram waits = new Histogram(HIGHEST_NANOS, 3);
        final Histogram writeWaits = new Histogram(HIGHEST_NANOS, 3);
        long inTime;
        long all;
    }

    Message run() throws Exception {
        Sections sections = order.number("sections", 0) == 1 ? new Sections() : null;
        CyclicBarrier start = new CyclicBarrier(threads, this::setCountFrom);
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Count>> futures = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                String name = oneName ? order.text("name") : order.text("name") + "-" + i;
                int thread = i;
                futures.add(executor.submit((Callable<Count>) () -> {
                    try (Turns turns = Turns.of(session, order, name, thread)) {
                        return cycle(turns, start, sections);
                    }
                }));
            }
            List<Count> counts = new ArrayList<>();
            long end = System.nanoTime() + windowNanos + TimeUnit.MINUTES.toNanos(LATE_MINUTES);
            for (Future<Count> future : futures) {
                counts.add(future.get(end - System.nanoTime(), TimeUnit.NANOSECONDS));
            }
            return answer(counts, sections);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            executor.shutdownNow();
        }
    }

    /** Together with other processes, it is the time that they were all given. */
    private void setCountFrom() {
        long ready = System.nanoTime() + RAMP_NANOS;
        countFrom = Math.max(ready, order.number("from", ready));
    }

    private Count cycle(Turns turns, CyclicBarrier start, @org.jspecify.annotations.Nullable Sections sections)
            throws Exception {
        Count count = new Count();
        start.await(LATE_MINUTES, TimeUnit.MINUTES);
        long from = countFrom;
        long now = System.nanoTime();
        while (now - from < windowNanos) {
            NamedLock lock = turns.next();
            lock.lock();
            long acquired = System.nanoTime();
            if (oneName && inside.addAndGet(turns.takes()) > turns.room()) {
                intrusions.incrementAndGet();
            }
            pause(holdNanos);
            if (oneName) {
                inside.addAndGet(-turns.takes());
            }
            long releasing = System.nanoTime();
            if (sections != null && turns.takes() == turns.room()) {
                sections.add(acquired, releasing);
            }
            lock.unlock();
            long released = System.nanoTime();
            count.all++;
            if (now - from >= 0) {
                count.waits.recordValue(Math.min(acquired - now, HIGHEST_NANOS));
                if (turns.writes()) {
                    count.writeWaits.recordValue(Math.min(acquired - now, HIGHEST_NANOS));
                }
                count.pairs.recordValue(Math.min(acquired - now + released - releasing, HIGHEST_NANOS));
            }
            if (acquired - from >= 0 && acquired - from < windowNanos) {
                count.inTime++;
            }
            pause(thinkNanos);
            now = thinkNanos == 0 ? released : System.nanoTime();
        }
        return count;
    }

    private static void pause(long nanos) {
        if (nanos > 0) {
            long end = System.nanoTime() + nanos;
            for (long left = nanos; left > 0; left = end - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    }

    private Message answer(List<Count> counts, @org.jspecify.annotations.Nullable Sections sections)
            throws IOException {
        Histogram pairs = new Histogram(HIGHEST_NANOS, 3);
        Histogram waits = new Histogram(HIGHEST_NANOS, 3);
        Histogram writeWaits = new Histogram(HIGHEST_NANOS, 3);
        counts.forEach(count -> {
            writeWaits.add(count.writeWaits);
            pairs.add(count.pairs);
            waits.add(count.waits);
        });
        if (sections != null) {
            sections.write(Path.of(order.text("file")));
        }
        return new Message("ok")
                .with(
                        "in-time",
                        counts.stream().mapToLong(count -> count.inTime).sum())
                .with("all", counts.stream().mapToLong(count -> count.all).sum())
                .with(
                        "least",
                        counts.stream().mapToLong(count -> count.inTime).min().orElse(0))
                .with(
                        "most",
                        counts.stream().mapToLong(count -> count.inTime).max().orElse(0))
                .with("intrusions", intrusions.get())
                .with("window-nanos", windowNanos)
                .with("pairs", pairs)
                .with("waits", waits)
                .with("write-waits", writeWaits);
    }
}
