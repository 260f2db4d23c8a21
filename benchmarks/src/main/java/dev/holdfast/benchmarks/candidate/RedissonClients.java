package dev.holdfast.benchmarks.candidate;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson clients with its defaults, on one server. */
final class RedissonClients {
    private RedissonClients() {}

    static RedissonClient open(String address) {
        Config config = new Config();
        config.useSingleServer().setAddress(address);
        return Redisson.create(config);
    }
}
