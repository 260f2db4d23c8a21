package dev.holdfast.lock.redis;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection with one subscription, made when this process waits for the first time, for all locks and as long as the
 * client lives. A message is the owner id of the acquisition that is called. Whenever the subscription has been
 * (re-)established, everybody is called, because messages may have been missed before.
 */
final class ChannelSignals implements RedisSignals {
    private static final Logger LOG = LoggerFactory.getLogger(ChannelSignals.class);

    private static final long RETRY_MILLIS = 500;
    private static final long SUBSCRIBE_MILLIS = 10_000;

    private final String channel;
    private final RedisWaiters waiters;
    private final RedisSource source;
    private final AtomicReference<CompletableFuture<StatefulRedisPubSubConnection<String, String>>> connection =
            new AtomicReference<>();
    private volatile boolean closed;

    /**
     * Makes it; nothing is sent yet.
     *
     * @param channel this process's own channel
     * @param waiters who is called
     * @param source connects, on a thread of its own
     */
    ChannelSignals(String channel, RedisWaiters waiters, RedisSource source) {
        this.channel = channel;
        this.waiters = waiters;
        this.source = source;
    }

    @Override
    public boolean queues() {
        return true;
    }

    @Override
    public String command() {
        return "PUBLISH";
    }

    @Override
    public String channel(RedisKeys keys) {
        return channel;
    }

    @Override
    public void wanted(String owner, RedisKeys keys) {
        if (connection.get() == null) {
            open();
        }
    }

    private void open() {
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening = new CompletableFuture<>();
        if (!closed && connection.compareAndSet(null, opening)) {
            Thread thread = new Thread(() -> open(opening), "holdfast-redis-subscribe");
            thread.setDaemon(true);
            thread.start();
        }
    }

    @Override
    public void unwanted(String owner) {}

    private void open(CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening) {
        try {
            StatefulRedisPubSubConnection<String, String> opened = source.connectPubSub();
            opened.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String from, String owner) {
                    waiters.call(owner);
                }

                @Override
                public void subscribed(String to, long count) {
                    waiters.callAll();
                }
            });
            opening.complete(opened);
            if (closed) {
                source.close(opened);
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
            tryAgain(opening);
        }
    }

    /** What the user must mend is told once; after anything else a new connection is made. */
    private void failed(
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening,
            StatefulRedisPubSubConnection<String, String> opened,
            Throwable failure) {
        if (closed) {
            return;
        }
        LockException told = RedisFailures.translate("channel '" + channel + "' subscribe", failure);
        if (told instanceof LockConfigurationException) {
            LOG.warn("{}; until then waiters only poll", told.getMessage());
            return;
        }
        LOG.debug("channel '{}': cannot subscribe, waiters poll until it works", channel, failure);
        if (source.connects()) {
            opened.closeAsync();
        }
        tryAgain(opening);
    }

    private void tryAgain(CompletableFuture<StatefulRedisPubSubConnection<String, String>> opening) {
        if (connection.compareAndSet(opening, null) && !closed && waiters.size() > 0) {
            CompletableFuture.delayedExecutor(RETRY_MILLIS, TimeUnit.MILLISECONDS, Runnable::run)
                    .execute(this::open);
        }
    }

    @Override
    public void close() {
        closed = true;
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> open = connection.get();
        if (open != null) {
            open.thenAccept(source::close);
        }
    }
}
