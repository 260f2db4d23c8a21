package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Signals a process together with its children: PostgreSQL answers its clients in processes of their own. */
public final class ProcessTree {

    private static final long SIGNAL_SECONDS = 10;
    private static final long EXIT_SECONDS = 30;

    private ProcessTree() {}

    /** Sends a signal to the process first, so that it starts no more children, then to its descendants. */
    static void signal(ProcessHandle root, String signal) {
        send(signal, List.of(root));
        List<ProcessHandle> children = root.descendants().toList();
        if (!children.isEmpty()) {
            send(signal, children);
        }
    }

    /** Stops the process and its descendants, and waits until each of their threads has: until then one may still answer. */
    public static void stop(ProcessHandle root) {
        signal(root, "STOP");
        List<ProcessHandle> all = new ArrayList<>(root.descendants().toList());
        all.add(root);
        awaitAll(all, ProcessTree::isStopped, SIGNAL_SECONDS);
    }

    /** Lets the process and its descendants go on. */
    public static void resume(ProcessHandle root) {
        signal(root, "CONT");
    }

    /** Whether all threads have stopped or ended; where there is no /proc, it is taken for granted. */
    private static boolean isStopped(ProcessHandle process) {
        return areAllThreads("TtZX", process);
    }

    /**
     * Whether it holds nothing any more, neither a port nor a file. It may still be listed, until the process that adopted it asks for its exit
     * status: that may take seconds on a busy machine.
     */
    public static boolean isGone(ProcessHandle process) {
        return !process.isAlive() || Files.exists(threads(process)) && areAllThreads("ZX", process);
    }

    private static Path threads(ProcessHandle process) {
        return Path.of("/proc", Long.toString(process.pid()), "task");
    }

    private static boolean areAllThreads(String states, ProcessHandle process) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(threads(process))) {
            for (Path thread : threads) {
                if (states.indexOf(state(thread)) < 0) {
                    return false;
                }
            }
            return true;
        } catch (IOException | DirectoryIteratorException gone) {
            return true;
        }
    }

    private static char state(Path thread) {
        try {
            String stat = Files.readString(thread.resolve("stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2);
        } catch (IOException gone) {
            return 'X';
        }
    }

    /** Kills the process and its descendants and waits until they are gone. It is stopped first, so that it starts no more children. */
    public static void kill(ProcessHandle root) throws InterruptedException {
        if (!isGone(root)) {
            try {
                send("STOP", List.of(root));
                awaitAll(List.of(root), ProcessTree::isStopped, SIGNAL_SECONDS);
            } catch (IllegalStateException e) {
                // It is killed anyway.
            }
        }
        List<ProcessHandle> descendants = root.descendants().toList();
        root.destroyForcibly();
        descendants.forEach(ProcessHandle::destroyForcibly);
        try {
            root.onExit().get(EXIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException(
                    "process " + root.pid() + " is still there " + EXIT_SECONDS + " s after SIGKILL", e);
        }
        if (!awaitAll(descendants, ProcessTree::isGone, EXIT_SECONDS)) {
            throw new IllegalStateException(
                    "of the processes " + descendants + " some are still there " + EXIT_SECONDS + " s after SIGKILL");
        }
    }

    private static boolean awaitAll(List<ProcessHandle> processes, Predicate<ProcessHandle> condition, long seconds) {
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!processes.stream().allMatch(condition)) {
            if (System.nanoTime() - deadlineNanos >= 0) {
                return false;
            }
            LockSupport.parkNanos(2_000_000);
        }
        return true;
    }

    /**
     * A watcher that kills the process and removes its folder if this JVM ends without its shutdown hooks: its standard
     * input ends then.
     */
    static Process guard(ProcessHandle root, Path folder) throws IOException {
        return new ProcessBuilder(
                        "sh",
                        "-c",
                        "read _; kill -KILL \"$1\"; rm -rf \"$2\"",
                        "holdfast-guard",
                        Long.toString(root.pid()),
                        folder.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    private static void send(String signal, List<ProcessHandle> processes) {
        StringBuilder command = new StringBuilder("kill -" + signal);
        processes.forEach(process -> command.append(' ').append(process.pid()));
        try {
            Process kill = new ProcessBuilder("sh", "-c", command.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!kill.waitFor(SIGNAL_SECONDS, TimeUnit.SECONDS)) {
                kill.destroyForcibly();
                throw new IllegalStateException("'" + command + "' did not end within " + SIGNAL_SECONDS + " s");
            }
        } catch (IOException e) {
            throw new IllegalStateException("cannot run '" + command + "'", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while sending SIG" + signal, e);
        }
    }
}
