package dev.holdfast.lock.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;

/** A source whose client outlives single connections. */
record BorrowedConnectionFactory(ConnectionFactory source) implements ConnectionFactory {
    @Override
    public boolean cluster() {
        return source.cluster();
    }

    @Override
    public Link connect() {
        return source.connect();
    }

    @Override
    public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
        return source.signals(prefix, waiters, link);
    }

    @Override
    public StatefulRedisPubSubConnection<String, String> connectPubSub() {
        return source.connectPubSub();
    }

    @Override
    public boolean subscribes() {
        return source.subscribes();
    }

    @Override
    public boolean connects() {
        return source.connects();
    }

    @Override
    public void refused(boolean refused) {
        source.refused(refused);
    }

    @Override
    public void close(StatefulConnection<?, ?> connection) {
        source.close(connection);
    }

    @Override
    public void close() {}
}
