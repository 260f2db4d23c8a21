package dev.holdfast.lock.cli.process;

import dev.holdfast.lock.Lease;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Keeps a program within its lease.
 *
 * <p>While renewals succeed, the lease's remaining validity stays above the grace period and nothing happens. When it
 * falls below, the program and all its descendants get a TERM. When it falls below a reserve, or the lease is lost,
 * they get a KILL, which is repeated until all have ended. The validity counts from before the last confirmed renewal,
 * less a margin ({@link Lease#remaining()}), so they are dead before the store can grant the lock to another client.
 * The supervisor cannot prevent an overlap if this process or its machine is suspended for longer than the lease.
 *
 * <p>A suspect lease shows no validity, although the last confirmation still holds. So the last confirmed end counts,
 * unless the lease is lost. It counts by both clocks, since a machine that slept may show it only by the time of day.
 */
public final class Supervisor {
    private static final long MAX_RESERVE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final int STATUS_OF_SIGNALS = 128;
    private static final long LOOK_WHEN_STOPPING_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LOOK_WHEN_ENDING_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Duration grace;
    private final Duration stopTime;
    private final boolean ignoreLoss;
    private final Consumer<String> messages;
    private final Timing timing;

    /**
     * Creates a supervisor.
     *
     * @param grace how long before the end of a lease that is not renewed the program gets a TERM
     * @param stopTime how long what the program started may go on after a signal has ended the program, before it is killed
     * @param ignoreLoss whether a loss is only reported
     * @param messages gets a line for the user when something is wrong
     */
    public Supervisor(Duration grace, Duration stopTime, boolean ignoreLoss, Consumer<String> messages) {
        this(grace, stopTime, ignoreLoss, messages, Timing.SYSTEM);
    }

    Supervisor(Duration grace, Duration stopTime, boolean ignoreLoss, Consumer<String> messages, Timing timing) {
        this.grace = grace;
        this.stopTime = stopTime;
        this.ignoreLoss = ignoreLoss;
        this.messages = messages;
        this.timing = timing;
    }

    /**
     * How a program ended.
     *
     * @param status its exit status, 128 and the signal's number if a signal ended it
     * @param lost whether it was ended because its lease could not be kept, or ended when the lease was lost
     */
    public record Outcome(int status, boolean lost) {}

    /** The clock, and the wait between two looks. */
    interface Timing {
        Timing SYSTEM = new Timing() {
            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public long wallNanos() {
                return TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
            }

            @Override
            public void await(CompletableFuture<?> event, long nanos) throws InterruptedException {
                try {
                    event.get(nanos, TimeUnit.NANOSECONDS);
                } catch (TimeoutException | ExecutionException e) {
                    // The caller looks again.
                }
            }
        };

        long nanos();

        /** The time of day, which a user may change. */
        long wallNanos();

        /** Waits for an event, but no longer than that. */
        void await(CompletableFuture<?> event, long nanos) throws InterruptedException;
    }

    /**
     * Waits until the program has ended, and ends it if the lease cannot be kept. If a signal ended the program, waits until all that
     * it started has ended too; what still runs after the stop time is killed. If this thread is interrupted, or fails, everything is
     * killed at once.
     *
     * @param lease the program's lease; it is not closed here
     * @param process the running program
     * @param signals are sent to the program; if one asked it to end, what it started is waited for as well
     * @return how it ended
     * @throws InterruptedException if interrupted; the program is dead
     */
    public Outcome supervise(Lease lease, GuardedProcess process, Signals signals) throws InterruptedException {
        try {
            return watch(
                    lease,
                    process,
                    () -> signals.forwardTo(process),
                    () -> signals.asked().isPresent());
        } finally {
            signals.forwardToNobody();
        }
    }

    Outcome watch(Lease lease, Guarded process, Runnable begin, BooleanSupplier asked) throws InterruptedException {
        boolean watched = false;
        try {
            begin.run();
            process.rehearse();
            Outcome outcome = new Watch(lease, process, asked).run();
            watched = true;
            return outcome;
        } finally {
            if (!watched) {
                killAll(process);
            }
        }
    }

    /** Returns when everything has ended, or after a second: the caller may close the lease then. */
    private void killAll(Guarded process) throws InterruptedException {
        long begunNanos = timing.nanos();
        do {
            process.signal(PosixSignal.KILL);
            timing.await(new CompletableFuture<>(), LOOK_WHEN_ENDING_NANOS);
        } while (process.anyAlive() && timing.nanos() - begunNanos < MAX_RESERVE_NANOS);
    }

    /** One program under one lease. */
    private final class Watch {
        private final Lease lease;
        private final Guarded process;
        private final BooleanSupplier asked;
        private final CompletableFuture<Integer> exit;
        private final CompletableFuture<?> lost;
        private final long graceNanos;
        private Outcome outcome = new Outcome(0, false); // its class is loaded now, not at the end
        private long untilNanos;
        private long untilWallNanos;
        private boolean terminated;
        private boolean killed;
        private boolean lossReported;
        private boolean stopping;
        private long stopNanos;

        Watch(Lease lease, Guarded process, BooleanSupplier asked) {
            this.lease = lease;
            this.process = process;
            this.asked = asked;
            this.exit = process.exit();
            this.lost = lease.lost().toCompletableFuture();
            long granted = lease.remaining().toNanos();
            this.graceNanos = Math.min(grace.toNanos(), granted / 2); // a store may grant less than asked for
            this.untilNanos = timing.nanos() + granted;
            this.untilWallNanos = timing.wallNanos() + granted;
        }

        Outcome run() throws InterruptedException {
            while (!exit.isDone() || mustOutliveAll() && process.anyAlive()) {
                stopIfEnded();
                long remaining = remainingNanos();
                if (ignoreLoss) {
                    awaitExit();
                } else if (remaining <= reserveNanos()) {
                    kill();
                    pause(LOOK_WHEN_ENDING_NANOS);
                } else if (remaining <= graceNanos || terminated) {
                    terminate(remaining);
                    pause(LOOK_WHEN_ENDING_NANOS);
                } else {
                    pause(Math.min(LOOK_NANOS, remaining - graceNanos));
                }
            }
            if (lost.isDone() && !terminated && !lossReported) {
                messages.accept("the lease was lost (" + lost.join() + ") when the command ended");
            }
            outcome = new Outcome(exit.join(), terminated || lost.isDone());
            return outcome;
        }

        /** A script that a signal has ended leaves programs that are still ending: they need the lock as it did. */
        private boolean mustOutliveAll() {
            return terminated || endedBySignal();
        }

        private boolean endedBySignal() {
            return asked.getAsBoolean() || exit.isDone() && isOfSignal(exit.join());
        }

        /** As far as a status says: a program may also return such a number by itself. */
        private boolean isOfSignal(int status) {
            return status > STATUS_OF_SIGNALS && status <= STATUS_OF_SIGNALS + 64;
        }

        /** The program has ended and others of its family have not: they end soon, or are killed. */
        private void stopIfEnded() {
            if (!exit.isDone() || terminated) {
                return;
            }
            if (!stopping) {
                stopping = true;
                stopNanos = timing.nanos() + stopTime.toNanos();
                messages.accept("the command has ended; waiting for what it started");
                if (!asked.getAsBoolean()) {
                    process.signal(PosixSignal.TERM); // the signal that ended the program reached it alone
                }
            } else if (timing.nanos() - stopNanos >= 0) {
                if (!killed) {
                    killed = true;
                    messages.accept(
                            "what the command started still runs " + stopTime.toSeconds() + " s after it: killing it");
                }
                process.signal(PosixSignal.KILL);
            }
        }

        private long remainingNanos() {
            if (lost.isDone()) {
                return 0;
            }
            long now = timing.nanos();
            long wallNow = timing.wallNanos();
            long confirmed = lease.remaining().toNanos();
            if (confirmed > 0) {
                untilNanos = now + confirmed;
                untilWallNanos = wallNow + confirmed;
            }
            return Math.min(untilNanos - now, untilWallNanos - wallNow);
        }

        /** Kept for the last, so that the program is dead, and not only dying, when the lease ends. */
        private long reserveNanos() {
            return Math.min(MAX_RESERVE_NANOS, graceNanos / 2);
        }

        private void terminate(long remaining) {
            if (!terminated) {
                terminated = true;
                messages.accept("the lease cannot be kept and ends in " + TimeUnit.NANOSECONDS.toMillis(remaining)
                        + " ms: sending TERM to the command");
                process.signal(PosixSignal.TERM);
            }
        }

        private void kill() {
            terminated = true;
            if (!killed) {
                killed = true;
                messages.accept(
                        lost.isDone()
                                ? "the lease is lost (" + lost.join() + "): killing the command"
                                : "the lease is about to end: killing the command");
            }
            process.signal(PosixSignal.KILL);
        }

        private void awaitExit() throws InterruptedException {
            if (!lost.isDone()) {
                pause(TimeUnit.SECONDS.toNanos(1));
            } else {
                if (!lossReported) {
                    lossReported = true;
                    messages.accept("the lease is lost (" + lost.join() + "); the command goes on, as you asked");
                }
                timing.await(exit.isDone() ? new CompletableFuture<>() : exit, TimeUnit.SECONDS.toNanos(1));
            }
        }

        private void pause(long nanos) throws InterruptedException {
            if (terminated) {
                timing.await(new CompletableFuture<>(), nanos);
            } else if (stopping) {
                timing.await(lost, Math.min(nanos, LOOK_WHEN_STOPPING_NANOS));
            } else {
                timing.await(CompletableFuture.anyOf(exit, lost), nanos);
            }
        }
    }
}
