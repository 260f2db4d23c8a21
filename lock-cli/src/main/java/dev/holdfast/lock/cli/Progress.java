package dev.holdfast.lock.cli;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.LockName;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Shows a line on the terminal with the holder and the waiting time. Prints nothing elsewhere. */
final class Progress implements AutoCloseable {
    /** Set by the launcher if standard error is a terminal. */
    private static final boolean TERMINAL = Boolean.getBoolean("holdfast.terminal");

    private static final String CLEAR_LINE = "\r\u001b[K";
    private static final int SECONDS_TO_THE_NEXT_LOOK = 5;

    private final LockClient client;
    private final String name;
    private final PrintWriter err;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final long begunNanos = System.nanoTime();
    private final Thread thread;
    private final ReentrantLock screen = new ReentrantLock();
    private boolean printed; // guarded by screen, like all output

    private Progress(LockClient client, String name, PrintWriter err) {
        this.client = client;
        this.name = name;
        this.err = err;
        this.thread = new Thread(null, this::print, "holdfast-progress", 0, false);
        thread.setDaemon(true);
    }

    static Progress start(LockClient client, String name, PrintWriter err) {
        return start(client, name, err, TERMINAL);
    }

    static Progress start(LockClient client, String name, PrintWriter err, boolean terminal) {
        Progress progress = new Progress(client, name, err);
        if (terminal) {
            progress.thread.start();
        }
        return progress;
    }

    private void print() {
        String holder = "";
        for (int second = 1; !endsWithin(Duration.ofSeconds(1)); second++) {
            if (second % SECONDS_TO_THE_NEXT_LOOK == 1) {
                holder = holder();
            }
            long waited = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begunNanos);
            show("holdfast: waiting for '" + LockName.printable(name) + "', " + waited + " s" + holder);
        }
    }

    /** Prints the line, unless the wait is over: then the screen is the command's. */
    private void show(String line) {
        screen.lock();
        try {
            if (!ended.isDone()) {
                err.print(CLEAR_LINE + line);
                err.flush();
                printed = true;
            }
        } finally {
            screen.unlock();
        }
    }

    private void clear() {
        if (printed) {
            err.print(CLEAR_LINE);
            err.flush();
        }
    }

    private String holder() {
        try {
            return client.holder(name).map(Progress::describe).orElse("");
        } catch (LockException e) {
            return "; the store does not answer";
        }
    }

    private static String describe(HolderInfo holder) {
        return "; held by " + holder.who() + "@" + holder.host() + " pid " + holder.pid();
    }

    private boolean endsWithin(Duration time) {
        try {
            ended.get(time.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (java.util.concurrent.TimeoutException e) {
            return false;
        } catch (InterruptedException | java.util.concurrent.ExecutionException e) {
            return true;
        }
    }

    /** Clears the line and stops printing. If the terminal blocks for a second, the line stays. */
    @Override
    public void close() {
        boolean interrupted = Thread.interrupted();
        boolean ours = false;
        ended.complete(null);
        try {
            ours = screen.tryLock(1, TimeUnit.SECONDS);
            if (ours) {
                clear();
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (ours) {
                screen.unlock();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** For tests: waits until nothing can be printed any more. */
    void awaitEnd() throws InterruptedException {
        thread.join();
    }
}
