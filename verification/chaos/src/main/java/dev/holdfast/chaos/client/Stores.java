package dev.holdfast.chaos.client;

import dev.holdfast.chaos.memory.RemoteBackend;
import dev.holdfast.chaos.mutant.Mutants;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.redis.RedisLocks;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.internal.HostAndPort;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.MappingSocketAddressResolver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Opens a lock client on what the controller calls a store: a lock URI, or one of the forms that need more than that.
 * <ul>
 *   <li>{@code redlock+URI+URI+…}: Redlock over these masters;
 *   <li>{@code sentinel+URI+real=proxy+…}: a group that Sentinel watches, each server reached through its proxy's port;
 *   <li>{@code cluster+redis://host:port,port,…+real=proxy+…}: a Redis Cluster, too;
 *   <li>{@code memory-tcp:port}: the memory store of {@link dev.holdfast.chaos.memory.MemoryServer}.
 * </ul>
 */
public final class Stores {
    private static final Duration REQUEST = Duration.ofSeconds(1);
    private static final Duration UNAVAILABLE = Duration.ofSeconds(10);

    private Stores() {}

    /**
     * Opens a client.
     *
     * @param store as above
     * @param leaseMillis its lease
     * @param mutant what is wrong with it
     * @return an open client, whose requests time out after a second
     */
    public static LockClient open(String store, long leaseMillis, String mutant) {
        return open(store, leaseMillis, mutant, REQUEST);
    }

    /**
     * Opens a client that has more patience.
     *
     * @param store as above
     * @param leaseMillis its lease
     * @param requestTimeout how long a request may take
     * @return an open client
     */
    public static LockClient patient(String store, long leaseMillis, Duration requestTimeout) {
        return open(store, leaseMillis, Mutants.NONE, requestTimeout);
    }

    private static LockClient open(String store, long leaseMillis, String mutant, Duration requestTimeout) {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(requestTimeout)
                .unavailableTimeout(UNAVAILABLE)
                .lockOptions(LockOptions.builder()
                        .lease(Duration.ofMillis(leaseMillis))
                        .build())
                .build();
        String[] parts = store.split("\\+");
        return switch (parts[0]) {
            case "redlock" -> redlock(parts, options);
            case "sentinel" -> sentinel(parts, options);
            case "cluster" -> cluster(parts, options);
            default ->
                store.startsWith(RemoteBackend.SCHEME)
                        ? Mutants.client(
                                mutant,
                                LockEngine.client(
                                        Mutants.backend(
                                                mutant,
                                                new RemoteBackend(
                                                        Integer.parseInt(
                                                                store.substring(RemoteBackend.SCHEME.length())),
                                                        Mutants.handedMillis(mutant) > 0)),
                                        options))
                        : LockClient.connect(store, options);
        };
    }

    private static LockClient redlock(String[] parts, LockClientOptions options) {
        List<RedisClient> clients = new ArrayList<>();
        ClientResources resources = resources().build();
        for (int i = 1; i < parts.length; i++) {
            clients.add(redis(resources, parts[i]));
        }
        return new ClosingClient(
                RedisLocks.redlock(clients).options(options).build(), () -> shutDown(clients, resources));
    }

    private static LockClient sentinel(String[] parts, LockClientOptions options) {
        ClientResources resources = throughProxies(parts);
        List<RedisClient> clients = List.of(redis(resources, parts[1]));
        return new ClosingClient(
                RedisLocks.builder(clients.get(0)).options(options).build(), () -> shutDown(clients, resources));
    }

    private static LockClient cluster(String[] parts, LockClientOptions options) {
        ClientResources resources = throughProxies(parts);
        List<RedisURI> seeds = new ArrayList<>();
        for (String port : parts[1].split(":")[2].split(",")) {
            RedisURI seed = RedisURI.create("redis://127.0.0.1:" + port);
            seed.setTimeout(REQUEST);
            seeds.add(seed);
        }
        RedisClusterClient client = RedisClusterClient.create(resources, seeds);
        client.setOptions(ClusterClientOptions.builder()
                .socketOptions(SocketOptions.builder().connectTimeout(REQUEST).build())
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enableAllAdaptiveRefreshTriggers()
                        .adaptiveRefreshTriggersTimeout(Duration.ofMillis(500))
                        .build())
                .build());
        return new ClosingClient(
                RedisLocks.builder(client).options(options).build(), () -> shutDown(List.of(client), resources));
    }

    /** Servers announce their own addresses. */
    private static ClientResources throughProxies(String[] parts) {
        Map<Integer, HostAndPort> proxies = new HashMap<>();
        for (int i = 2; i < parts.length; i++) {
            String[] pair = parts[i].split("=");
            proxies.put(Integer.parseInt(pair[0]), HostAndPort.of("127.0.0.1", Integer.parseInt(pair[1])));
        }
        return resources()
                .socketAddressResolver(MappingSocketAddressResolver.create(
                        (HostAndPort address) -> proxies.getOrDefault(address.getPort(), address)))
                .build();
    }

    private static ClientResources.Builder resources() {
        return ClientResources.builder()
                .ioThreadPoolSize(2)
                .computationThreadPoolSize(2)
                .reconnectDelay(
                        Delay.fullJitter(Duration.ofMillis(10), Duration.ofMillis(500), 10, TimeUnit.MILLISECONDS));
    }

    private static RedisClient redis(ClientResources resources, String uri) {
        RedisURI address = RedisURI.create(uri);
        address.setTimeout(REQUEST);
        RedisClient client = RedisClient.create(resources, address);
        client.setOptions(io.lettuce.core.ClientOptions.builder()
                .disconnectedBehavior(io.lettuce.core.ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .socketOptions(SocketOptions.builder().connectTimeout(REQUEST).build())
                .build());
        return client;
    }

    private static void shutDown(List<? extends AbstractRedisClient> clients, ClientResources resources) {
        clients.forEach(client -> client.shutdown(0, 2, TimeUnit.SECONDS));
        resources.shutdown(0, 2, TimeUnit.SECONDS).awaitUninterruptibly(5_000);
    }
}
