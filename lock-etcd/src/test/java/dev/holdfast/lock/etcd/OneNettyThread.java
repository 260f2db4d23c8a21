package dev.holdfast.lock.etcd;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A child process whose clients have one Netty thread each. They contend, wait, give up, renew, read and close. Code that
 * waited for an answer in that thread would wait for ever, since only that thread can deliver it. The thread is also
 * sampled every millisecond: it may take a short mutex, but must never wait with this library on its stack.
 */
final class OneNettyThread {
    private static final long PATIENCE_MINUTES = 4;
    private static final int CLIENTS = 3;
    private static final int THREADS = 4;
    private static final int TURNS = 50;

    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicInteger ours = new AtomicInteger();
    private final Set<String> waits = ConcurrentHashMap.newKeySet();
    private final Set<String> networkThreads = ConcurrentHashMap.newKeySet();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger renewed = new AtomicInteger();
    private final Set<String> foreign = ConcurrentHashMap.newKeySet();

    private OneNettyThread() {}

    public static void main(String[] args) {
        try {
            new OneNettyThread().run(args[0]);
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(3);
        }
    }

    private void run(String uri) throws Exception {
        Thread sampler = new Thread(this::sample, "sampler");
        sampler.setDaemon(true);
        sampler.start();
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(9)).build())
                .requestTimeout(Duration.ofSeconds(30))
                .unavailableTimeout(Duration.ofMinutes(PATIENCE_MINUTES))
                .build();
        List<LockClient> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(LockClient.connect(uri, options));
            clients.get(i).addListener(new LockListener() {
                @Override
                public void acquired(String name, long token, Duration waited, boolean handedOff) {
                    called();
                }

                @Override
                public void renewed(String name, long token) {
                    called();
                    renewed.incrementAndGet();
                }
            });
        }
        List<Callable<Void>> tasks = new ArrayList<>();
        for (LockClient client : clients) {
            for (int i = 0; i < THREADS; i++) {
                tasks.add(() -> contend(client));
            }
        }
        inParallel(tasks);
        waitWhileHeld(clients.get(0), clients.get(1), clients.get(2));
        clients.forEach(LockClient::close);
        over.set(true);
        sampler.join();
        report();
    }

    private void inParallel(List<Callable<Void>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        for (Future<Void> done : threads.invokeAll(tasks, PATIENCE_MINUTES, TimeUnit.MINUTES)) {
            done.get();
        }
        threads.shutdown();
    }

    private Void contend(LockClient client) throws Exception {
        DistributedLock lock = client.lock("contended");
        for (int turn = 0; turn < TURNS; turn++) {
            lock.lock();
            lock.unlock();
            if (lock.tryLock()) {
                lock.unlock();
            }
            acquired(lock, Duration.ofMinutes(PATIENCE_MINUTES)).close();
        }
        return null;
    }

    private Lease acquired(DistributedLock lock, Duration timeout) throws Exception {
        CompletableFuture<Lease> future = lock.acquireAsync(timeout);
        future.whenComplete((lease, failure) -> called());
        return future.get(PATIENCE_MINUTES, TimeUnit.MINUTES);
    }

    /** Until it was renewed twice; meanwhile one waits, one gives up, and one closes its client while it waits. */
    private void waitWhileHeld(LockClient holder, LockClient waiter, LockClient leaver) throws Exception {
        Lease held = holder.lock("held").acquire();
        CompletableFuture<Lease> next = waiter.lock("held").acquireAsync(Duration.ofMinutes(PATIENCE_MINUTES));
        CompletableFuture<Lease> cancelled = leaver.lock("held").acquireAsync(Duration.ofMinutes(PATIENCE_MINUTES));
        CompletableFuture<Void> giveUp = leaver.lock("held")
                .acquireAsync(Duration.ofSeconds(2))
                .handle((lease, failure) -> {
                    called();
                    return null;
                });
        giveUp.get(PATIENCE_MINUTES, TimeUnit.MINUTES);
        cancelled.cancel(false);
        CompletableFuture<Lease> closed = leaver.lock("held").acquireAsync(Duration.ofMinutes(PATIENCE_MINUTES));
        long renewals = renewed.get();
        while (renewed.get() < renewals + 2) {
            LockSupport.parkNanos(10_000_000);
        }
        leaver.close();
        closed.handle((lease, failure) -> null).get(PATIENCE_MINUTES, TimeUnit.MINUTES);
        if (holder.holder("held").isEmpty() || !held.isValid()) {
            throw new AssertionError("not held any more: " + held);
        }
        held.close();
        next.get(PATIENCE_MINUTES, TimeUnit.MINUTES).close();
    }

    /** Called back by the engine. */
    private void called() {
        calls.incrementAndGet();
        String name = Thread.currentThread().getName();
        if (isNetworkThread(name)) {
            foreign.add(name);
        }
    }

    private static boolean isNetworkThread(String name) {
        return name.startsWith("grpc-") || name.startsWith("jetcd-") || name.startsWith("vert.x-");
    }

    private void sample() {
        while (!over.get()) {
            for (Map.Entry<Thread, StackTraceElement[]> entry :
                    Thread.getAllStackTraces().entrySet()) {
                Thread thread = entry.getKey();
                if (isNetworkThread(thread.getName())) {
                    if (thread.getName().contains("worker")) {
                        networkThreads.add(thread.getName());
                    }
                    look(thread.getName(), entry.getValue());
                }
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** A stack that waits begins with what parks or sleeps; to take a mutex is not to wait for an answer. */
    private void look(String thread, StackTraceElement[] stack) {
        if (Arrays.stream(stack).noneMatch(frame -> frame.getClassName().startsWith("dev.holdfast."))) {
            return;
        }
        ours.incrementAndGet();
        String top = stack[0].getClassName() + "." + stack[0].getMethodName();
        boolean waits =
                top.endsWith(".park") || top.endsWith(".wait0") || top.endsWith(".wait") || top.endsWith("sleep");
        boolean mutex = Arrays.stream(stack)
                .anyMatch(frame -> frame.getClassName().equals("java.util.concurrent.locks.ReentrantLock")
                        && frame.getMethodName().equals("lock"));
        if (waits && !mutex) {
            this.waits.add(thread + Arrays.toString(stack));
        }
    }

    private void report() {
        waits.forEach(System.err::println);
        System.out.println("network threads " + networkThreads.size());
        System.out.println("samples with our code " + ours);
        System.out.println("stacks that wait " + waits.size());
        System.out.println("callbacks " + calls);
        System.out.println("callbacks on network threads " + foreign);
        System.out.println("done");
    }
}
