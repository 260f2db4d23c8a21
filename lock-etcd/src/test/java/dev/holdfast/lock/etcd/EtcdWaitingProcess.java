package dev.holdfast.lock.etcd;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * A process of its own, driven by {@link EtcdProcessesIT}: {@code wait URI NAME THREADS} lets so many threads wait and
 * says {@code got} for each grant, to be released by a line on standard input; {@code relay URI NAME ROUNDS} holds the
 * lock for 5 ms at a time and prints, for each round, when it had it and when it let it go.
 */
final class EtcdWaitingProcess {
    private EtcdWaitingProcess() {}

    public static void main(String[] args) throws Exception {
        try (LockClient client = LockClient.connect(args[1])) {
            DistributedLock lock = client.lock(args[2]);
            int count = Integer.parseInt(args[3]);
            if (args[0].equals("wait")) {
                waitFor(lock, count);
            } else {
                relay(lock, count);
            }
        }
    }

    private static void waitFor(DistributedLock lock, int threads) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                lock.lock();
                System.out.println("got");
            });
            thread.setDaemon(true);
            thread.start();
        }
        commands.readLine();
    }

    private static void relay(DistributedLock lock, int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            lock.lock();
            long gotNanos = System.nanoTime();
            TimeUnit.MILLISECONDS.sleep(5); // the work: long enough for the other process to queue up
            System.out.println(gotNanos + " " + System.nanoTime());
            lock.unlock();
        }
    }
}
