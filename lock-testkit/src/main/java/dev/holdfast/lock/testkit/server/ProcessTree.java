package dev.holdfast.lock.testkit.server;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** Signals a process together with its children: PostgreSQL answers its clients in processes of their own. */
final class ProcessTree {

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
    static void stop(ProcessHandle root) {
        signal(root, "STOP");
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(SIGNAL_SECONDS);
        List<ProcessHandle> all = new ArrayList<>(root.descendants().toList());
        all.add(root);
        while (!all.stream().allMatch(ProcessTree::isStopped) && System.nanoTime() - deadlineNanos < 0) {
            LockSupport.parkNanos(2_000_000);
        }
    }

    /** Whether all threads have stopped or ended; where there is no /proc, it is taken for granted. */
    private static boolean isStopped(ProcessHandle process) {
        try (DirectoryStream<Path> threads =
                Files.newDirectoryStream(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (Path thread : threads) {
                String stat = Files.readString(thread.resolve("stat"));
                char state = stat.charAt(stat.lastIndexOf(')') + 2);
                if ("TtZX".indexOf(state) < 0) {
                    return false;
                }
            }
            return true;
        } catch (IOException gone) {
            return true;
        }
    }

    /** Kills the process and its descendants and waits until they are gone. */
    static void kill(ProcessHandle root) throws InterruptedException {
        List<ProcessHandle> all = new ArrayList<>(root.descendants().toList());
        all.add(0, root);
        for (ProcessHandle process : all) {
            process.destroyForcibly();
        }
        for (ProcessHandle process : all) {
            try {
                process.onExit().get(EXIT_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException | TimeoutException e) {
                throw new IllegalStateException(
                        "process " + process.pid() + " is still there " + EXIT_SECONDS + " s after SIGKILL", e);
            }
        }
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
