package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.etcd.ChildProcesses;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.etcd.SignalOnly;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * A child process, started by {@link ChildProcesses}. It ends with its standard input.
 *
 * <p>{@code wait URI NAME THREADS} starts that number of threads, which wait for a lock and keep it, and prints {@code
 * got} for each grant. {@code relay URI NAME TURNS} takes that number of turns for each input line, and prints their
 * times.
 */
public final class EtcdChild {
    private static final int PAUSE_MILLIS = 3;
    private static final int MAX_WAIT_MILLIS = 300;

    private EtcdChild() {}

    public static void main(String[] args) {
        try {
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            int count = Integer.parseInt(args[3]);
            if (args[0].equals("wait")) {
                waitFor(args[1], args[2], count, commands);
            } else {
                relay(args[1], args[2], count, commands);
            }
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            die(e);
        }
    }

    private static void die(Throwable failure) {
        failure.printStackTrace();
        Runtime.getRuntime().halt(3);
    }

    private static void waitFor(String uri, String name, int threads, BufferedReader commands) throws Exception {
        try (LockClient client = SignalOnly.connect(uri)) {
            DistributedLock lock = client.lock(name);
            for (int i = 0; i < threads; i++) {
                Thread thread = new Thread(() -> {
                    lock.lock();
                    System.out.println("got");
                });
                thread.setUncaughtExceptionHandler((t, failure) -> die(failure));
                thread.setDaemon(true);
                thread.start();
            }
            commands.readLine();
        }
    }

    /** One line a turn: a {@link Turn}; and {@code end} after the last. */
    private static void relay(String uri, String name, int turns, BufferedReader commands) throws Exception {
        try (LockClient client = LockClient.connect(uri, SignalOnly.OPTIONS);
                Client raw = Client.builder()
                        .endpoints("http://" + EtcdInternals.endpoints(uri).get(0))
                        .build()) {
            DistributedLock lock = client.lock(name);
            DistributedLock alone =
                    client.lock(name + " alone " + ProcessHandle.current().pid());
            System.out.println("ready");
            while (commands.readLine() != null) {
                for (int i = 0; i < turns; i++) {
                    turn(lock, alone, raw, name);
                }
                System.out.println("end");
            }
        }
    }

    private static void turn(DistributedLock lock, DistributedLock alone, Client raw, String name) throws Exception {
        lock.lock();
        long got = System.nanoTime();
        raw.getKVClient()
                .txn()
                .Then(Op.put(EtcdKeys.bytes("raw"), EtcdKeys.bytes("x"), PutOption.DEFAULT))
                .commit()
                .get(1, TimeUnit.MINUTES);
        long transacted = System.nanoTime();
        alone.lock();
        alone.unlock();
        long paired = System.nanoTime();
        awaitWaiter(raw, name);
        long releasing = System.nanoTime();
        lock.unlock();
        long released = System.nanoTime();
        System.out.println(new Turn(got, transacted - got, paired - transacted, releasing, released));
    }

    /** Holds on until the other process has queued up and has had time to begin its watch. */
    private static void awaitWaiter(Client raw, String name) throws Exception {
        GetOption count = GetOption.builder().isPrefix(true).withCountOnly(true).build();
        for (int i = 0; i < MAX_WAIT_MILLIS; i++) {
            long queued = raw.getKVClient()
                    .get(new EtcdKeys(EtcdLocks.DEFAULT_PREFIX).queue(name), count)
                    .get(1, TimeUnit.MINUTES)
                    .getCount();
            if (queued > 1) {
                break;
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
    }

    /**
     * What a turn took, by the monotonic clock, which all processes of a machine share.
     *
     * @param gotNanos when {@code lock()} had returned
     * @param rawNanos how long a transaction with one put took
     * @param pairNanos how long locking and unlocking a name of its own took
     * @param releasingNanos when {@code unlock()} was called
     * @param releasedNanos when it had returned
     */
    public record Turn(long gotNanos, long rawNanos, long pairNanos, long releasingNanos, long releasedNanos) {

        public static Turn parse(String line) {
            String[] numbers = line.split(" ");
            return new Turn(
                    Long.parseLong(numbers[0]),
                    Long.parseLong(numbers[1]),
                    Long.parseLong(numbers[2]),
                    Long.parseLong(numbers[3]),
                    Long.parseLong(numbers[4]));
        }

        @Override
        public String toString() {
            return gotNanos + " " + rawNanos + " " + pairNanos + " " + releasingNanos + " " + releasedNanos;
        }
    }
}
