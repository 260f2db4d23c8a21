package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A factory without a server: the test makes its connections up, and sees on which thread, and what becomes of them. */
public final class StubFactory implements ConnectionFactory {
    private static final long PATIENCE_MILLIS = 60_000;

    /** Who has connected, by the names of their threads. */
    final List<String> connecting = new CopyOnWriteArrayList<>();

    /** What was given back to be closed. */
    final List<StatefulConnection<?, ?>> closed = new CopyOnWriteArrayList<>();

    /** What it was given about the server. */
    final List<Boolean> refusals = new CopyOnWriteArrayList<>();

    /** How often it was closed itself. */
    final AtomicInteger closes = new AtomicInteger();

    volatile boolean cluster;
    volatile boolean connects = true;

    private final Supplier<Link> links;
    private final Supplier<? extends StatefulRedisPubSubConnection<String, String>> subscriptions;

    private StubFactory(
            Supplier<Link> links, Supplier<? extends StatefulRedisPubSubConnection<String, String>> subscriptions) {
        this.links = links;
        this.subscriptions = subscriptions;
    }

    public static StubFactory linking(Supplier<Link> links) {
        return new StubFactory(links, () -> {
            throw new UnsupportedOperationException("a connection for subscriptions");
        });
    }

    static StubFactory subscribing(Supplier<? extends StatefulRedisPubSubConnection<String, String>> subscriptions) {
        return new StubFactory(
                () -> {
                    throw new UnsupportedOperationException("a link");
                },
                subscriptions);
    }

    /** Waits for the threads that connect; what they have done is seen afterwards. */
    static void settle() {
        List<Thread> threads;
        do {
            Thread[] all = new Thread[2 * Thread.activeCount() + 100];
            threads = Stream.of(all)
                    .limit(Thread.enumerate(all)) // with those that have no stack yet
                    .filter(thread -> thread.getName().equals("holdfast-redis-connect")
                            || thread.getName().equals("holdfast-redis-subscribe"))
                    .toList();
            for (Thread thread : threads) {
                try {
                    thread.join(PATIENCE_MILLIS);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                if (thread.isAlive()) {
                    throw new IllegalStateException(thread + " does not end");
                }
            }
        } while (!threads.isEmpty());
    }

    private void noteThread() {
        Thread thread = Thread.currentThread();
        connecting.add(thread.getName() + (thread.isDaemon() ? ", a daemon" : ""));
    }

    @Override
    public boolean cluster() {
        return cluster;
    }

    @Override
    public boolean connects() {
        return connects;
    }

    @Override
    public Link connect() {
        noteThread();
        return links.get();
    }

    @Override
    public StatefulRedisPubSubConnection<String, String> connectPubSub() {
        noteThread();
        return subscriptions.get();
    }

    @Override
    public void refused(boolean refused) {
        refusals.add(refused);
    }

    @Override
    public void close(StatefulConnection<?, ?> connection) {
        closed.add(connection);
    }

    @Override
    public void close() {
        closes.incrementAndGet();
    }
}
