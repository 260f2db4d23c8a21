package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import dev.holdfast.lock.spring.boot.HoldfastProperties.InitializeSchema;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Jdbc;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import io.etcd.jetcd.Client;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFramework;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the stores that the application has already: those with a module on the class path and a bean that it can use. These are
 * no configuration classes, each of which would have to be read at every start, with or without the module.
 */
final class BackendCandidates {
    private static final List<String> JDBC = List.of("dev.holdfast.lock.jdbc.JdbcLocks", "javax.sql.DataSource");
    private static final List<String> REDIS = List.of(
            "dev.holdfast.lock.redis.RedisLocks",
            "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory");
    private static final List<String> ETCD = List.of("dev.holdfast.lock.etcd.EtcdLocks", "io.etcd.jetcd.Client");
    private static final List<String> ZOOKEEPER =
            List.of("dev.holdfast.lock.zookeeper.ZooKeeperLocks", "org.apache.curator.framework.CuratorFramework");

    private final List<BackendCandidate> found = new ArrayList<>();

    private BackendCandidates() {}

    /** Returns the names of the classes that are looked for. */
    static Stream<String> classes() {
        return Stream.of(JDBC, REDIS, ETCD, ZOOKEEPER).flatMap(List::stream);
    }

    static List<BackendCandidate> find(
            HoldfastProperties properties, ConfigurableListableBeanFactory beans, ObjectProvider<DatabaseReady> ready) {
        ClassLoader loader = beans.getBeanClassLoader();
        BackendCandidates candidates = new BackendCandidates();
        if (arePresent(JDBC, loader)) {
            candidates.add(OverJdbc.candidate(properties, beans, ready));
        }
        if (arePresent(REDIS, loader)) {
            candidates.add(OverRedis.candidate(properties, beans));
        }
        if (arePresent(ETCD, loader)) {
            candidates.add(OverEtcd.candidate(properties, beans));
        }
        if (arePresent(ZOOKEEPER, loader)) {
            candidates.add(OverZooKeeper.candidate(properties, beans));
        }
        return candidates.found;
    }

    private static boolean arePresent(List<String> classes, @Nullable ClassLoader loader) {
        return classes.stream().allMatch(name -> ClassUtils.isPresent(name, loader));
    }

    private void add(@Nullable BackendCandidate candidate) {
        if (candidate != null) {
            found.add(candidate);
        }
    }

    /**
     * Locks in the application's database, whose tables are there before the client is. To be loaded only if lock-jdbc is there.
     */
    private static final class OverJdbc {
        private static final Logger LOG = LoggerFactory.getLogger(OverJdbc.class);
        /** How many request time-outs the first connection may take. */
        private static final int FIRST_CONNECTION = 5;

        private static final boolean DETECTS_EMBEDDED = ClassUtils.isPresent(
                "org.springframework.boot.jdbc.EmbeddedDatabaseConnection", OverJdbc.class.getClassLoader());

        private OverJdbc() {}

        static @Nullable BackendCandidate candidate(
                HoldfastProperties properties,
                ConfigurableListableBeanFactory beans,
                ObjectProvider<DatabaseReady> ready) {
            return BackendCandidate.of(Backend.JDBC, DataSource.class, beans, (dataSource, options) -> {
                ready.getObject();
                return open(dataSource, properties.jdbc(), options, beans);
            });
        }

        private static LockClient open(
                DataSource dataSource,
                Jdbc properties,
                LockClientOptions options,
                ConfigurableListableBeanFactory beans) {
            fillPool(dataSource, options.requestTimeout().multipliedBy(FIRST_CONNECTION));
            JdbcLocks.Builder builder = JdbcLocks.builder(dataSource).options(options);
            OptionsOfProperties.set(
                    "holdfast.jdbc.strategy",
                    properties.strategy(),
                    strategy -> builder.strategy(JdbcStrategy.valueOf(strategy.name())));
            OptionsOfProperties.set("holdfast.jdbc.table", properties.table(), builder::table);
            OptionsOfProperties.set("holdfast.jdbc.notifications", properties.notifications(), builder::notifications);
            boolean creates = creates(properties.initializeSchema(), dataSource);
            if (creates) {
                JdbcLocks.createTransactionTable(dataSource, options.requestTimeout());
            }
            builder.createTable(creates);
            return BackendCandidate.customized(beans, JdbcLocks.Builder.class, builder)
                    .build();
        }

        /**
         * Waits for a pool's first connection, which loads the driver and may take longer than a request, as {@code LockClient.connect}
         * does. A failure is reported by the request that follows.
         */
        private static void fillPool(DataSource dataSource, Duration timeout) {
            FutureTask<Void> connecting = new FutureTask<>(() -> {
                dataSource.getConnection().close();
                return null;
            });
            Thread thread = ClientThreads.daemon("holdfast-first-connection", connecting);
            thread.start();
            try {
                connecting.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            } catch (ExecutionException | TimeoutException e) {
                LOG.debug("the first connection of the data source: {}", String.valueOf(e));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static boolean creates(InitializeSchema when, DataSource dataSource) {
            return when == InitializeSchema.ALWAYS
                    || when == InitializeSchema.EMBEDDED
                            && DETECTS_EMBEDDED
                            && EmbeddedDatabaseConnection.isEmbedded(dataSource);
        }
    }

    /**
     * Locks over a Lettuce client that is made like that of the application's connection factory. The factory ends its own client
     * whenever the context is stopped or paused, and makes another at the next start; held locks have to be renewed meanwhile. To be
     * loaded only if lock-redis is there.
     */
    static final class OverRedis {
        static final String CREATE = "createClient";

        private OverRedis() {}

        static @Nullable BackendCandidate candidate(
                HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
            return BackendCandidate.of(Backend.REDIS, LettuceConnectionFactory.class, beans, (factory, options) -> {
                AbstractRedisClient client = newClient(factory);
                // Destroyed in the reverse order: after the lock client, before the application's ClientResources.
                ((DefaultSingletonBeanRegistry) beans).registerDisposableBean("holdfastRedisClient", client::shutdown);
                RedisLocks.Builder builder = builder(client).options(options);
                OptionsOfProperties.set(
                        "holdfast.redis.prefix", properties.redis().prefix(), builder::prefix);
                return BackendCandidate.customized(beans, RedisLocks.Builder.class, builder)
                        .build();
            });
        }

        /** Calls the method by which the factory makes a client, which may be that of a subclass. */
        private static AbstractRedisClient newClient(LettuceConnectionFactory factory) {
            Method create = Objects.requireNonNull(
                    ReflectionUtils.findMethod(factory.getClass(), CREATE), "LettuceConnectionFactory.createClient");
            ReflectionUtils.makeAccessible(create);
            return (AbstractRedisClient) Objects.requireNonNull(ReflectionUtils.invokeMethod(create, factory));
        }

        private static RedisLocks.Builder builder(AbstractRedisClient client) {
            if (client instanceof RedisClusterClient cluster) {
                return RedisLocks.builder(cluster);
            }
            if (client instanceof RedisClient single) {
                return RedisLocks.builder(single);
            }
            throw new RefusedConfigurationException(
                    "The LettuceConnectionFactory makes no RedisClient or RedisClusterClient, but " + client + ".",
                    "Set holdfast.uri, or define a LockClient bean.");
        }
    }

    /** Locks over the application's jetcd client. To be loaded only if lock-etcd is there. */
    private static final class OverEtcd {
        private OverEtcd() {}

        static @Nullable BackendCandidate candidate(
                HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
            return BackendCandidate.of(Backend.ETCD, Client.class, beans, (client, options) -> {
                EtcdLocks.Builder builder = EtcdLocks.builder(client).options(options);
                OptionsOfProperties.set(
                        "holdfast.etcd.prefix", properties.etcd().prefix(), builder::prefix);
                return BackendCandidate.customized(beans, EtcdLocks.Builder.class, builder)
                        .build();
            });
        }
    }

    /** Locks over the application's CuratorFramework. To be loaded only if lock-zookeeper is there. */
    private static final class OverZooKeeper {
        private OverZooKeeper() {}

        static @Nullable BackendCandidate candidate(
                HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
            return BackendCandidate.of(Backend.ZOOKEEPER, CuratorFramework.class, beans, (framework, options) -> {
                ZooKeeperLocks.Builder builder =
                        ZooKeeperLocks.builder(framework).options(options);
                OptionsOfProperties.set(
                        "holdfast.zookeeper.base-path", properties.zookeeper().basePath(), builder::basePath);
                return BackendCandidate.customized(beans, ZooKeeperLocks.Builder.class, builder)
                        .build();
            });
        }
    }

    /** A bean that exists as soon as the application's migrations have run; lazy, so that only beans that need it wait for them. */
    @DependsOnDatabaseInitialization
    static final class DatabaseReady {}
}
