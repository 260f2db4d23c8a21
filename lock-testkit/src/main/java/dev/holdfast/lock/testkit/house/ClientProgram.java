package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.support.Waits;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A client in a JVM of its own, whose process a test pauses, or whose heap or disk is full. It carries out the lines of its standard
 * input, and ends with it. Arguments: the store's address and the lease.
 *
 * <ul>
 *   <li>{@code hold NAME} acquires a lock, {@code lock NAME} does so on a thread that is interrupted on loss: {@code held NAME TOKEN};
 *   <li>{@code wait NAME} waits for a lock: {@code waiting NAME}, later {@code granted NAME TOKEN};
 *   <li>{@code contend NAME} starts a thread that acquires and releases; {@code rest} ends all these: {@code rested};
 *   <li>{@code crowd NAME LIMIT COUNT} begins so many waits, for permits if the limit is not zero: {@code queued}; {@code served} when each has
 *       held and released, with the first failure;
 *   <li>{@code cpu} tells the processor time so far, in milliseconds;
 *   <li>{@code grumble} adds a listener that fails at each event, so that each writes a line to the log;
 *   <li>{@code fill MILLIS} keeps the heap full for so long: {@code filled FAILURES};
 *   <li>{@code report} writes a line for each lock, claim and ended thread, then {@code end};
 *   <li>{@code stacks} writes what all threads do: {@code end};
 *   <li>{@code close} closes the client: {@code closed}.
 * </ul>
 */
final class ClientProgram {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final long LOOK_NANOS = 200_000;
    private static final int MAX_FRAMES = 12;

    private final LockClient client;
    private final LockOptions interrupted;
    private final List<Contender> contenders = new ArrayList<>();
    private final List<Thread> contending = new ArrayList<>();
    private final Queue<String> threadEnds = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Holding[]> holdings = new AtomicReference<>(new Holding[0]);

    private ClientProgram(String uri, Duration lease) {
        LockOptions options = LockOptions.builder().lease(lease).build();
        interrupted = options.toBuilder().interruptOnLoss(true).build();
        LockClientOptions ofClient =
                LockClientOptions.builder().lockOptions(options).build();
        client = Waits.eventually(() -> LockClient.connect(uri, ofClient)); // the first connection loads the driver
        client.addListener(new LockListener() {
            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                for (Holding each : held()) {
                    if (each.token == token && each.name.equals(name)) {
                        each.lost();
                    }
                }
            }
        });
    }

    public static void main(String[] args) throws Exception {
        FailingLog.install();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ClientProgram program = new ClientProgram(args[0], Duration.parse(args[1]));
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, failure) -> program.threadEnds.add(thread.getName() + " " + failure));
        daemon("guarded code", program::guard);
        say("ready");
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            String[] words = order.split(" ");
            program.carryOut(words[0], words.length > 1 ? words[1] : "", words);
        }
        System.exit(0);
    }

    private static void say(String line) {
        System.out.println(line);
    }

    private static Thread daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void carryOut(String order, String argument, String[] words) throws InterruptedException {
        switch (order) {
            case "hold" -> hold(client.lock(argument).acquire(PATIENCE), "held");
            case "lock" -> daemon("holder of " + argument, () -> lockUntilInterrupted(argument));
            case "wait" -> {
                client.lock(argument).acquireAsync(PATIENCE).thenAccept(lease -> hold(lease, "granted"));
                say("waiting " + argument);
            }
            case "contend" -> {
                Contender contender = new Contender(client.lock(argument));
                contenders.add(contender);
                contending.add(daemon("contender", contender));
            }
            case "rest" -> rest();
            case "crowd" -> {
                Crowd crowd = new Crowd(client, argument, Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                say("queued");
                daemon("crowd", () -> say("served " + crowd.await()));
            }
            case "cpu" -> say("cpu " + Crowd.processorMillis());
            case "grumble" -> client.addListener(new Grumbler());
            case "fill" -> say("filled " + FullHeap.keep(millis(argument), this::hadNoMemory));
            case "report" -> report();
            case "stacks" -> stacks();
            case "close" -> {
                client.close();
                say("closed");
            }
            default -> throw new IllegalArgumentException("unknown order: " + order);
        }
    }

    private void hold(Lease lease, String how) {
        Holding holding = new Holding(lease);
        holdings.updateAndGet(before -> {
            Holding[] more = Arrays.copyOf(before, before.length + 1);
            more[before.length] = holding;
            return more;
        });
        say(how + " " + holding.name + " " + holding.token);
    }

    private Holding[] held() {
        return Objects.requireNonNull(holdings.get());
    }

    /** Looks at each lease, as guarded code does; needs no memory. */
    private void guard() {
        while (true) {
            Holding[] all = held();
            for (int i = 0; i < all.length; i++) {
                all[i].look();
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private void lockUntilInterrupted(String name) {
        DistributedLock lock = client.lock(name, interrupted);
        lock.lock();
        hold(lock.held().orElseThrow(), "held");
        String end = "not interrupted";
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            end = "interrupted";
        }
        try {
            lock.unlock();
            threadEnds.add(name + " " + end + ", released");
        } catch (LeaseLostException e) {
            threadEnds.add(name + " " + end + ", lost");
        }
        say("ended " + name);
    }

    private static long millis(String text) {
        return TimeUnit.MILLISECONDS.toNanos(Long.parseLong(text));
    }

    /** Needs no memory itself. */
    private boolean hadNoMemory() {
        for (int i = 0; i < contenders.size(); i++) {
            if (contenders.get(i).withoutMemory() > 0) {
                return true;
            }
        }
        return false;
    }

    private void rest() throws InterruptedException {
        contenders.forEach(Contender::rest);
        for (Thread thread : contending) {
            thread.join();
        }
        say("rested");
    }

    private void report() {
        for (Holding each : held()) {
            say("holding " + each.line());
        }
        for (Contender each : contenders) {
            say("contender " + each.name() + " " + each.claims() + " " + each.withoutMemory() + " " + each.failures()
                    + " " + each.lastFailure());
            each.tell(claim -> say("claim " + claim.line()));
        }
        threadEnds.forEach(end -> say("thread " + end));
        say("log " + FailingLog.failedLines());
        say("end");
    }

    private static void stacks() {
        Thread.getAllStackTraces().forEach((thread, stack) -> {
            say("stack of " + thread.getName() + ", " + thread.getState());
            Stream.of(stack).limit(MAX_FRAMES).forEach(frame -> say("    " + frame));
        });
        say("end");
    }

    /** Fails at each event of a lock. */
    private static final class Grumbler implements LockListener {
        @Override
        public void attempted(String name) {
            throw new IllegalStateException("a listener that fails on purpose");
        }

        @Override
        public void acquired(String name, long token, Duration waited, boolean handedOff) {
            throw new IllegalStateException("a listener that fails on purpose");
        }

        @Override
        public void renewed(String name, long token) {
            throw new IllegalStateException("a listener that fails on purpose");
        }
    }
}
