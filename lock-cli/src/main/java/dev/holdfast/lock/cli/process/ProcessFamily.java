package dev.holdfast.lock.cli.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A process and what it started.
 *
 * <p>The parent's id finds descendants, but not a daemon whose parent has ended. On Linux a mark in the environment, which
 * children inherit, finds those as well, in whatever session or process group they are. A process of another user, or one
 * that emptied its environment and left its parent, is not found. Thread-safe.
 */
final class ProcessFamily {
    private static final Path PROC = Path.of("/proc");
    private static final long SECONDS_FOR_KILL = 5;

    private final ProcessHandle first;
    private final byte[] mark;

    ProcessFamily(ProcessHandle first, String mark) {
        this.first = first;
        this.mark = mark.getBytes(StandardCharsets.UTF_8);
    }

    /** The members that run, parents before their children. */
    List<ProcessHandle> members() {
        Map<Long, ProcessHandle> found = new TreeMap<>();
        below().forEach(handle -> found.put(handle.pid(), handle));
        marked().forEach(handle -> {
            found.put(handle.pid(), handle);
            handle.descendants().forEach(below -> found.put(below.pid(), below));
        });
        return found.values().stream()
                .filter(ProcessHandle::isAlive)
                .sorted(Comparator.comparing(handle -> !handle.equals(first)))
                .toList();
    }

    /** The first and its descendants; none if it has ended, since its id may be another's by now. */
    private List<ProcessHandle> below() {
        return first.isAlive()
                ? Stream.concat(Stream.of(first), first.descendants()).toList()
                : List.of();
    }

    /**
     * Sends a signal that asks to end to all members, and any other to the first alone: most programs know nothing of USR1 and die
     * of it. Members that are started meanwhile do not get it, so a kill is repeated.
     */
    void signal(PosixSignal signal) {
        if (!signal.isForAll()) {
            send(signal, first.isAlive() ? List.of(first) : List.of());
            return;
        }
        if (signal == PosixSignal.KILL) {
            send(signal, below()); // at once; the search below takes a while
        }
        send(signal, members());
    }

    /** Finds the members and signals none of them: after that, all classes are loaded. */
    void rehearse() {
        members();
        send(PosixSignal.TERM, List.of());
        send(PosixSignal.KILL, List.of());
    }

    private static void send(PosixSignal signal, List<ProcessHandle> members) {
        switch (signal) {
            case TERM -> members.forEach(ProcessHandle::destroy);
            case KILL -> members.forEach(ProcessHandle::destroyForcibly);
            default -> byShell(signal, members);
        }
    }

    /** Java itself sends no other signals. */
    private static void byShell(PosixSignal signal, List<ProcessHandle> members) {
        if (members.isEmpty()) {
            return;
        }
        List<String> command = new ArrayList<>(List.of("sh", "-c", "kill -s " + signal.name() + " \"$@\"", "sh"));
        members.forEach(handle -> command.add(Long.toString(handle.pid())));
        try {
            Process kill = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            kill.waitFor(SECONDS_FOR_KILL, TimeUnit.SECONDS);
        } catch (IOException e) {
            members.forEach(ProcessHandle::destroy); // a system without a shell: the next best
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private List<ProcessHandle> marked() {
        List<ProcessHandle> found = new ArrayList<>();
        if (!Files.isDirectory(PROC)) {
            return found;
        }
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                // The handle first: it identifies the process even if its id is reused.
                ProcessHandle.of(Long.parseLong(process.getFileName().toString()))
                        .filter(handle -> hasMark(process.resolve("environ")))
                        .ifPresent(found::add);
            }
        } catch (IOException | DirectoryIteratorException e) {
            // Descendants are found without it.
        }
        return found;
    }

    private boolean hasMark(Path environ) {
        try {
            return indexOf(Files.readAllBytes(environ)) >= 0;
        } catch (IOException | SecurityException e) {
            return false; // it has ended, or belongs to another user
        }
    }

    private int indexOf(byte[] text) {
        for (int at = 0; at <= text.length - mark.length; at++) {
            if (java.util.Arrays.equals(text, at, at + mark.length, mark, 0, mark.length)) {
                return at;
            }
        }
        return -1;
    }
}
