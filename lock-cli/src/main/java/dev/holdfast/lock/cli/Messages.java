package dev.holdfast.lock.cli;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import picocli.CommandLine;

/**
 * Prints lines on standard error by its own thread, so that a caller never waits for a blocked reader. Beyond a hundred
 * waiting lines, further ones are dropped. Thread-safe.
 */
final class Messages implements Consumer<String>, AutoCloseable {
    private static final int MAX_WAITING = 100;

    private final CommandLine command;
    private final ThreadPoolExecutor printer;

    Messages(CommandLine command) {
        this.command = command;
        this.printer = new ThreadPoolExecutor(
                1,
                1,
                0,
                TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(MAX_WAITING),
                Messages::thread,
                new ThreadPoolExecutor.DiscardPolicy());
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(null, work, "holdfast-messages", 0, false);
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public void accept(String message) {
        printer.execute(() -> Failures.say(command, message));
    }

    /** Waits a second for what is not printed yet. */
    @Override
    public void close() {
        printer.shutdown();
        boolean interrupted = Thread.interrupted();
        try {
            printer.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
