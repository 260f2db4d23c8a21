package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Kind;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client process: works until it is asked to stop, then closes its client and counts the threads that stay. */
public final class ClientMain {
    private static final Logger LOG = LoggerFactory.getLogger(ClientMain.class);
    private static final long HICCUP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int MAIN_THREAD = 127;
    private static final long JOIN_MILLIS = 8_000;
    private static final long THREADS_END_MILLIS = 20_000;

    private final ClientConfig config;
    private final EventLog log;
    private final AtomicBoolean stopped = new AtomicBoolean();

    private ClientMain(ClientConfig config, EventLog log) {
        this.config = config;
        this.log = log;
    }

    /**
     * Runs a client process.
     *
     * @param arguments as {@link ClientConfig#arguments} writes them
     * @throws Exception if it cannot connect
     */
    public static void main(String[] arguments) throws Exception {
        ClientConfig config = ClientConfig.parse(arguments);
        Path file = config.folder().resolve(History.file(config.process()));
        int status = 1;
        try (EventLog log = EventLog.create(file)) {
            new ClientMain(config, log).run();
            status = 0;
        } catch (IOException | RuntimeException e) {
            LOG.error("client {} failed", config.process(), e);
        } finally {
            Runtime.getRuntime().halt(status);
        }
    }

    private void run() throws IOException, InterruptedException {
        daemon(this::watchClock, "chaos-clock");
        ExecutorService others = Executors.newCachedThreadPool(task -> daemonThread(task, "chaos-other"));
        LockClient client = connect();
        client.addListener(new LockListener() {
            @Override
            public void suspect(String name, long token, String detail) {
                log.write(Kind.SUSPECT, 0, MAIN_THREAD, 0, EventLog.NO_OPERATION, System.nanoTime(), token);
            }

            /** An election asks again by itself: no operation of ours fails. */
            @Override
            public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
                if (outcome == AttemptOutcome.UNAVAILABLE) {
                    log.write(Kind.SUSPECT, 0, MAIN_THREAD, 0, EventLog.NO_OPERATION, System.nanoTime(), 0);
                }
            }
        });
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < config.threads(); i++) {
            Worker worker = new Worker(config, client, log, i, stopped::get, others);
            workers.add(daemonThread(worker, "chaos-worker-" + i));
        }
        log.write(Kind.START, 0, MAIN_THREAD, 0, EventLog.NO_OPERATION, System.nanoTime(), 0);
        workers.add(daemonThread(new Bystanders(config, client, log, stopped::get), "chaos-bystanders"));
        workers.forEach(Thread::start);
        try (RegisterClient control = new RegisterClient(config.controlPort())) {
            if (!control.awaitStop(config.process().client(), config.process().incarnation())) {
                Runtime.getRuntime().halt(2);
            }
        }
        stopped.set(true);
        long start = System.nanoTime();
        for (Thread worker : workers) {
            long leftMillis = JOIN_MILLIS + 2 * config.leaseMillis() - (System.nanoTime() - start) / 1_000_000;
            worker.join(Math.max(1, leftMillis));
        }
        leaveOne(client);
        client.close();
        others.shutdown();
        log.write(Kind.END, 0, MAIN_THREAD, 0, EventLog.NO_OPERATION, System.nanoTime(), threadsThatStay());
    }

    /** A new process may be started while a fault is on; it tries until the store answers. */
    private LockClient connect() throws InterruptedException {
        for (int tries = 0; ; tries++) {
            try {
                return Stores.open(config.store(), config.leaseMillis(), config.mutant());
            } catch (LockException e) {
                if (tries > 100) {
                    throw e;
                }
                Thread.sleep(200);
            }
        }
    }

    /** Close has to release this one. */
    private void leaveOne(LockClient client) {
        int name = config.names() + config.process().client();
        Demand demand = switch (config.workload()) {
            case RW -> Demand.SHARED;
            case SEMAPHORE -> new Demand.Permits(1, Workload.LIMIT);
            default -> Demand.EXCLUSIVE;
        };
        Hold hold = new Hold(log, MAIN_THREAD, name, OpKind.LEFT_TO_CLOSE, demand);
        try {
            String lock = ClientConfig.lockName(name);
            Optional<? extends Lease> lease = switch (config.workload()) {
                case RW -> client.readWriteLock(lock).readLock().tryAcquire();
                case SEMAPHORE -> client.semaphore(lock, Workload.LIMIT).tryAcquire();
                default -> client.lock(lock).tryAcquire();
            };
            lease.ifPresent(held -> hold.acquired(System.nanoTime(), held));
        } catch (LockException e) {
            hold.failed(Hold.outcome(e));
        }
    }

    /** What the library started is called {@code holdfast-…}. */
    private static long threadsThatStay() throws InterruptedException {
        long start = System.nanoTime();
        List<String> left;
        do {
            Thread.sleep(50);
            left = Thread.getAllStackTraces().keySet().stream()
                    .filter(Thread::isAlive)
                    .map(Thread::getName)
                    .filter(name -> name.startsWith("holdfast-"))
                    .toList();
        } while (!left.isEmpty() && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(THREADS_END_MILLIS));
        if (!left.isEmpty()) {
            LOG.error("threads left after close: {}", left);
        }
        return left.size();
    }

    /** Notes when this process was paused: stopped by a signal, or for lack of a processor. */
    private void watchClock() {
        long before = System.nanoTime();
        try {
            while (true) {
                Thread.sleep(20);
                long now = System.nanoTime();
                if (now - before > HICCUP_NANOS) {
                    log.write(Kind.HICCUP, 0, MAIN_THREAD, 0, EventLog.NO_OPERATION, before, now - before);
                }
                before = now;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void daemon(Runnable task, String name) {
        daemonThread(task, name).start();
    }

    private static Thread daemonThread(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}
