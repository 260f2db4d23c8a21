package dev.holdfast.chaos;

import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.cluster.Node;
import dev.holdfast.chaos.cluster.RawWrite;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Writes to each server of a run ten times a second without the library, through a proxy like those of the clients, and measures
 * how long that takes: a yardstick for what may be expected of the locks. No fault concerns these proxies.
 */
final class StorePace implements AutoCloseable {
    private static final long PAUSE_MILLIS = 100;
    private static final long NONE = Long.MIN_VALUE;

    private final Cluster cluster;
    private final long originNanos;
    private final Queue<Interval> writes = new ConcurrentLinkedQueue<>();
    private final AtomicLongArray begun;
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    private StorePace(Cluster cluster, long originNanos) {
        this.cluster = cluster;
        this.originNanos = originNanos;
        this.begun = new AtomicLongArray(cluster.nodes().size());
    }

    static StorePace start(Cluster cluster, long originNanos) throws IOException {
        StorePace pace = new StorePace(cluster, originNanos);
        try {
            for (Node node : cluster.nodes()) {
                pace.watch(node);
            }
            return pace;
        } catch (IOException e) {
            pace.close();
            throw e;
        }
    }

    private void watch(Node node) throws IOException {
        int number = proxies.size();
        FaultProxy proxy = FaultProxy.to(node.host(), node.port());
        proxies.add(proxy);
        begun.set(number, NONE);
        Thread thread = new Thread(() -> run(number, proxy.port()), "chaos-pace-" + number);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    private void run(int number, int port) {
        try {
            while (true) {
                try (RawWrite raw = cluster.rawWrite(port)) {
                    raw.write(); // what is needed once, classes among it, says nothing
                    measure(number, raw);
                } catch (InterruptedException e) {
                    throw e;
                } catch (Exception e) {
                    begun.set(number, NONE);
                    Thread.sleep(PAUSE_MILLIS); // a server that is down
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void measure(int number, RawWrite raw) throws Exception {
        while (true) {
            long start = now();
            begun.set(number, start);
            try {
                raw.write();
            } finally {
                writes.add(new Interval("raw write", start, now()));
                begun.set(number, NONE);
            }
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    /** The ports of its proxies, one a node and in their order. */
    List<Integer> ports() {
        return proxies.stream().map(FaultProxy::port).toList();
    }

    /** All writes so far, those that wait for their answer among them. */
    List<Interval> writes() {
        List<Interval> all = new ArrayList<>(writes);
        for (int i = 0; i < begun.length(); i++) {
            long start = begun.get(i);
            if (start != NONE) {
                all.add(new Interval("raw write", start, Math.max(start, now())));
            }
        }
        return all;
    }

    private long now() {
        return System.nanoTime() - originNanos;
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        proxies.forEach(FaultProxy::close);
    }
}
