package dev.holdfast.examples.deploy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/** A JVM with one client, which prints how many threads it has: idle, with locks held, and with locks awaited. */
public final class ClientThreads {
    static final int HELD = 100;
    static final int AWAITED = 300;

    /** The first connection loads the driver, which on a busy machine takes seconds. */
    static final LockClientOptions FIRST =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

    private ClientThreads() {}

    /**
     * Runs it.
     *
     * @param arguments the store's URI, and whether another process holds the locks that are awaited
     * @throws Exception if something fails
     */
    public static void main(String[] arguments) throws Exception {
        String uri = arguments[0];
        List<Lease> others = new ArrayList<>();
        LockClient other = null;
        if (!Boolean.parseBoolean(arguments[1])) {
            other = LockClient.connect(uri, FIRST);
            for (int i = 0; i < AWAITED; i++) {
                others.add(other.lock("awaited/" + i).acquire());
            }
        }
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (LockClient client = LockClient.connect(uri, FIRST)) {
            client.lock("first").acquire().close();
            print("idle", before);
            List<Lease> held = new ArrayList<>();
            for (int i = 0; i < HELD; i++) {
                held.add(client.lock("held/" + i).acquire());
            }
            print("held", before);
            List<CompletableFuture<Lease>> awaited = new ArrayList<>();
            for (int i = 0; i < AWAITED; i++) {
                awaited.add(client.lock("awaited/" + i).acquireAsync(Duration.ofMinutes(5)));
            }
            try {
                awaited.get(0).get(2, TimeUnit.SECONDS); // meanwhile the first attempts have had their answers
                throw new IllegalStateException("granted, although another client holds it");
            } catch (TimeoutException e) {
                print("awaited", before);
            }
            awaited.forEach(each -> each.cancel(true));
            held.forEach(Lease::close);
        }
        others.forEach(Lease::close);
        if (other != null) {
            other.close();
        }
        System.exit(0);
    }

    /** Ours by their name; all others that were not there before are the driver's. */
    private static void print(String when, Set<Thread> before) throws InterruptedException {
        Set<Thread> now = Thread.getAllStackTraces().keySet();
        Thread.sleep(500); // one that has ended by then was there for one call
        List<String> names = now.stream()
                .filter(thread -> !before.contains(thread) && thread.isAlive())
                .map(Thread::getName)
                .filter(name -> !name.equals("CompletableFutureDelayScheduler")) // the JDK's own, one a process
                .toList();
        long ours = names.stream().filter(name -> name.startsWith("holdfast")).count();
        System.out.println(when + " " + ours + " + " + (names.size() - ours) + " "
                + names.stream()
                        .map(name -> name.replaceAll("\\d+", "N"))
                        .collect(Collectors.groupingBy(name -> name, TreeMap::new, Collectors.counting())));
    }
}
