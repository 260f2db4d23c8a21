package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.Subscription;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Virtual time: one thread, one queue of events, one seed. The same seed gives the same run to the last event. */
final class SimWorld {
    private static final int MAX_STANDING = 3;
    /** The maximum number of events without time passing, as in an endless loop of requests. */
    private static final int MAX_AT_ONCE = 1_000_000;

    final Random random;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long nowNanos = 1_000_000_000;
    private long sequence;
    /** The number of paused threads. */
    private int standing;
    /** Events since the time last passed. */
    private int atOnce;

    SimWorld(long seed) {
        random = new Random(seed * 0x9E3779B97F4A7C15L);
    }

    /** A process: its clocks run slightly fast or slow, and it can be paused or die. */
    final class Machine implements Ticker {
        private final double rate;
        private long wallOffsetMillis;
        private long pausedUntilNanos;
        long pausedNanos;
        boolean dead;

        Machine(double rate) {
            this.rate = rate;
        }

        @Override
        public long nanos() {
            return (long) (nowNanos * rate);
        }

        @Override
        public long wallMillis() {
            return 1_000_000 + wallOffsetMillis + (long) (nowNanos * rate / 1e6);
        }

        void jumpWallClock(long millis) {
            wallOffsetMillis += millis;
        }

        void pause(long nanos) {
            pausedUntilNanos = Math.max(pausedUntilNanos, nowNanos + nanos);
            pausedNanos += nanos;
        }

        EngineRuntime runtime() {
            Executor soon = task -> SimWorld.this.after(this, 0, task);
            Timer timer = (delay, task) -> SimWorld.this.after(this, (long) Math.ceil(delay / rate), task);
            return new EngineRuntime(this, () -> random, timer, soon, soon, soon, soon, () -> {});
        }
    }

    private final class Event implements Comparable<Event>, Subscription {
        final @Nullable Machine machine;
        long timeNanos;
        long order = sequence++;
        boolean cancelled;
        final Runnable task;

        Event(@Nullable Machine machine, long timeNanos, Runnable task) {
            this.machine = machine;
            this.timeNanos = timeNanos;
            this.task = task;
        }

        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(timeNanos, other.timeNanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }

        @Override
        public void close() {
            cancelled = true;
        }
    }

    long now() {
        return nowNanos;
    }

    /** Runs a task on a machine; null means the server. */
    Subscription after(@Nullable Machine machine, long delayNanos, Runnable task) {
        Event event = new Event(machine, nowNanos + Math.max(0, delayNanos), task);
        events.add(event);
        return event;
    }

    /** Runs events up to that time. */
    void runUntil(long untilNanos) {
        while (!events.isEmpty() && events.peek().timeNanos <= untilNanos) {
            Event event = events.poll();
            atOnce = event.timeNanos > nowNanos ? 0 : atOnce + 1;
            if (atOnce > MAX_AT_ONCE) {
                throw new IllegalStateException("time does not advance");
            }
            nowNanos = Math.max(nowNanos, event.timeNanos);
            Machine machine = event.machine;
            if (event.cancelled || machine != null && machine.dead) {
                continue;
            }
            if (machine != null && machine.pausedUntilNanos > nowNanos) {
                event.timeNanos = machine.pausedUntilNanos;
                events.add(event);
                continue;
            }
            event.task.run();
        }
        nowNanos = Math.max(nowNanos, untilNanos);
    }

    /**
     * Pauses the calling thread for that long, while everything else continues on another thread, so that the mutexes of this
     * thread stay locked.
     */
    void standStill(long nanos) {
        if (standing == MAX_STANDING) {
            return;
        }
        standing++;
        long untilNanos = nowNanos + nanos;
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread others = new Thread(() -> runUntil(untilNanos), "everybody else");
        others.setUncaughtExceptionHandler((thread, thrown) -> failure.set(thrown));
        others.start();
        try {
            others.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        standing--;
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new IllegalStateException(thrown);
        }
    }

    long millis(long from, long to) {
        return (from + (long) (random.nextDouble() * (to - from))) * 1_000_000;
    }

    boolean chance(double probability) {
        return random.nextDouble() < probability;
    }
}
