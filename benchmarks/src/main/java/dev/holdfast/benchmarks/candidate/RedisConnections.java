package dev.holdfast.benchmarks.candidate;

import java.net.URI;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Spring Data's connections, for the candidates that use them. */
final class RedisConnections {
    private RedisConnections() {}

    static LettuceConnectionFactory lettuce(String address) {
        URI uri = URI.create(address);
        LettuceConnectionFactory connections = new LettuceConnectionFactory(uri.getHost(), uri.getPort());
        connections.afterPropertiesSet();
        connections.start();
        return connections;
    }
}
