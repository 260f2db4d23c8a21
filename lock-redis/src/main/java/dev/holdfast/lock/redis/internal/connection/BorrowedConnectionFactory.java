package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.CompletableFuture;

/** A factory whose client outlives single connections. */
public record BorrowedConnectionFactory(ConnectionFactory factory) implements ConnectionFactory {
    @Override
    public boolean cluster() {
        return factory.cluster();
    }

    @Override
    public Link connect() {
        return factory.connect();
    }

    @Override
    public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
        return factory.signals(prefix, waiters, link);
    }

    @Override
    public StatefulRedisPubSubConnection<String, String> connectPubSub() {
        return factory.connectPubSub();
    }

    @Override
    public boolean subscribes() {
        return factory.subscribes();
    }

    @Override
    public boolean connects() {
        return factory.connects();
    }

    @Override
    public void refused(boolean refused) {
        factory.refused(refused);
    }

    @Override
    public void close(StatefulConnection<?, ?> connection) {
        factory.close(connection);
    }

    @Override
    public void closeWhenOpen(CompletableFuture<? extends StatefulConnection<?, ?>> opening) {
        factory.closeWhenOpen(opening);
    }

    @Override
    public void close() {}
}
