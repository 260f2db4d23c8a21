package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One connection with one subscription, made when this process waits for the first time, for all locks and as long as
 * the client lives. A message calls an acquisition, or hands it the lock ({@link RedisWaiters#message}). Whenever the
 * subscription has been (re-)established, all waiters are called, because messages may have been missed before. A
 * process that cannot subscribe does not queue; it tries to subscribe again while there are waiters.
 */
final class ChannelSignals implements RedisSignals {
    private static final BackgroundLog LOG = BackgroundLog.of(ChannelSignals.class);

    private static final long RETRY_MILLIS = 500;
    private static final long SUBSCRIBE_MILLIS = 10_000;
    private static final long PENDING_NANOS = 2_000_000_000L;
    private static final int DEAD_AFTER = 3;

    /** Where the subscription is. */
    private enum State {
        UNUSED,
        PENDING,
        LIVE,
        FAILED
    }

    private final String inbox = OwnerId.random().toString();
    private final String channel;
    private final boolean countsAll;
    private final RedisWaiters waiters;
    private final ConnectionFactory factory;
    private final LongSupplier nanoTime;
    private final AtomicReference<CompletableFuture<StatefulRedisPubSubConnection<String, String>>> connection =
            new AtomicReference<>();
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicInteger missed = new AtomicInteger();
    private volatile @Nullable StatefulRedisPubSubConnection<String, String> heard;
    private volatile State state = State.UNUSED;
    private volatile long sinceNanos;
    private volatile boolean closed;

    /**
     * Makes it; nothing is sent yet.
     *
     * @param prefix the first part of this process's own channel
     * @param countsAll whether PUBLISH counts all receivers: on a cluster it counts those on one node
     * @param waiters who is called
     * @param factory connects, on a thread of its own
     * @param nanoTime as {@link System#nanoTime}
     */
    ChannelSignals(
            String prefix, boolean countsAll, RedisWaiters waiters, ConnectionFactory factory, LongSupplier nanoTime) {
        this.channel = prefix + ":c:" + inbox;
        this.countsAll = countsAll;
        this.waiters = waiters;
        this.factory = factory;
        this.nanoTime = nanoTime;
    }

    @Override
    public boolean queues() {
        return true;
    }

    /** Also tries to subscribe again while there are waiters that cannot be called. */
    @Override
    public String mode(RedisKeys keys) {
        State now = state;
        if (now == State.LIVE) {
            return countsAll ? "P" : "p";
        }
        long age = nanoTime.getAsLong() - sinceNanos;
        if (now == State.FAILED && age > RETRY_MILLIS * 1_000_000) {
            open();
        } else if (now == State.PENDING && age > SUBSCRIBE_MILLIS * 1_000_000) {
            replace(); // the Redis client's own subscription after a lost connection was refused, or has no answer
        }
        return now == State.UNUSED || now == State.PENDING && age < PENDING_NANOS ? "p" : DEAF;
    }

    @Override
    public String inbox() {
        return inbox;
    }

    @Override
    public void wanted(String owner, RedisKeys keys) {
        if (state == State.UNUSED) {
            enter(State.PENDING);
            open();
        }
    }

    private void enter(State next) {
        sinceNanos = nanoTime.getAsLong();
        state = next;
    }

    private void open() {
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening = new CompletableFuture<>();
        if (!closed && connection.compareAndSet(null, opening)) {
            ClientThreads.start("holdfast-redis-subscribe", () -> open(opening), () -> withdraw(opening));
        }
    }

    @Override
    public void unwanted(String owner) {}

    private void open(CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening) {
        try {
            StatefulRedisPubSubConnection<String, String> opened = factory.connectPubSub();
            if (opened != heard) {
                try {
                    listenTo(opened);
                } catch (Error e) {
                    factory.close(opened);
                    throw e;
                }
            }
            opening.complete(opened);
            if (closed) {
                if (connection.compareAndSet(opening, null)) { // else close() has seen it
                    factory.close(opened);
                }
                return;
            }
            CompletableFuture<Void> subscribed =
                    opened.async().subscribe(channel).toCompletableFuture();
            subscribed.orTimeout(SUBSCRIBE_MILLIS, TimeUnit.MILLISECONDS).whenComplete((nothing, failure) -> {
                if (failure != null) {
                    failed(opening, opened, failure);
                }
            });
        } catch (RuntimeException e) {
            LOG.debug("channel '{}': cannot connect for notifications, waiters poll until it works", channel, e);
            opening.completeExceptionally(e);
            failed(opening);
        } catch (Error e) { // a Redis client that is too old, or no memory
            tell(e);
            opening.completeExceptionally(e);
            failed(opening);
        }
    }

    /** What an earlier connection has to say, which is being closed, does not count. */
    private void listenTo(StatefulRedisPubSubConnection<String, String> opened) {
        heard = opened;
        opened.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String from, String text) {
                missed.set(0);
                waiters.message(text);
            }

            @Override
            public void subscribed(String to, long count) {
                if (opened == heard) {
                    missed.set(0);
                    enter(State.LIVE);
                }
                waiters.callAll();
            }
        });
        opened.addListener(new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> disconnected) {
                if (opened == heard && state == State.LIVE) {
                    enter(State.PENDING);
                }
            }
        });
    }

    /** Replaces a connection that is open for the server but delivers nothing. */
    @Override
    public void missed() {
        if (missed.incrementAndGet() < DEAD_AFTER || state != State.LIVE) {
            return;
        }
        missed.set(0);
        replace();
    }

    private void replace() {
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> dead = connection.get();
        if (dead == null || !dead.isDone() || !connection.compareAndSet(dead, null)) {
            return;
        }
        LOG.debug("channel '{}': calls do not arrive, so it is subscribed anew", channel);
        enter(State.FAILED);
        if (factory.connects()) {
            dead.thenAccept(StatefulRedisPubSubConnection::closeAsync);
        }
        open();
    }

    /** Reports once what the user must fix, and retries it like everything else while there are waiters. */
    private void failed(
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening,
            StatefulRedisPubSubConnection<String, String> opened,
            Throwable failure) {
        if (closed) {
            return;
        }
        tell(failure);
        if (factory.connects()) {
            opened.closeAsync();
        }
        failed(opening);
    }

    private void tell(Throwable failure) {
        RuntimeException told = RedisFailures.TRANSLATOR.translate("channel '" + channel + "' subscribe", failure);
        if (told instanceof LockConfigurationException && warned.compareAndSet(false, true)) {
            LOG.warn("{}; until then waiters only poll", told.getMessage());
        } else {
            LOG.debug("channel '{}': cannot subscribe, waiters poll until it works", channel, failure);
        }
    }

    /** Those who wait leave the queue, where they would only keep others waiting. */
    private void failed(CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening) {
        withdraw(opening);
        waiters.callAll();
    }

    private void withdraw(CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening) {
        if (connection.get() == opening) { // else another one has replaced it
            enter(State.FAILED);
            connection.compareAndSet(opening, null);
        }
    }

    @Override
    public void close() {
        closed = true;
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> open = connection.getAndSet(null);
        if (open != null) {
            factory.closeWhenOpen(open);
        }
    }
}
