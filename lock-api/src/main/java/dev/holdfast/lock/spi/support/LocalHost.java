package dev.holdfast.lock.spi.support;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** This host's name, looked up once, and only if a client is created. */
public final class LocalHost {
    /** The name. */
    public static final String NAME = name(
            System.getenv(),
            List.of(Path.of("/proc/sys/kernel/hostname"), Path.of("/etc/hostname")),
            () -> InetAddress.getLocalHost().getHostName(),
            1_000);

    private LocalHost() {}

    /**
     * Prefers local sources. A look-up may query a name server, which can take many seconds if the server is unreachable, so
     * the wait for it is limited to the given time.
     */
    static String name(
            Map<String, String> environment, List<Path> files, Callable<String> lookUp, long patienceMillis) {
        for (String variable : List.of("HOSTNAME", "COMPUTERNAME")) {
            String name = clean(environment.getOrDefault(variable, ""));
            if (!name.isEmpty()) {
                return name;
            }
        }
        for (Path file : files) {
            String name = clean(contents(file));
            if (!name.isEmpty()) {
                return name;
            }
        }
        String name = clean(lookedUp(lookUp, patienceMillis));
        return name.isEmpty() ? "unknown-host" : name;
    }

    private static String contents(Path file) {
        try {
            return Files.isReadable(file) ? Files.readString(file) : "";
        } catch (IOException | SecurityException e) {
            return "";
        }
    }

    private static String lookedUp(Callable<String> lookUp, long patienceMillis) {
        FutureTask<String> answer = new FutureTask<>(lookUp);
        Thread looking = ClientThreads.daemon("holdfast-hostname", answer);
        looking.start();
        try {
            return answer.get(patienceMillis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        } catch (ExecutionException | TimeoutException e) {
            return "";
        }
    }

    private static String clean(String name) {
        return name.strip().replaceAll("\\s+", "-");
    }
}
