package dev.holdfast.lock.spring.boot;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

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
            candidates.add(JdbcBackend.candidate(properties, beans, ready));
        }
        if (arePresent(REDIS, loader)) {
            candidates.add(RedisBackend.candidate(properties, beans));
        }
        if (arePresent(ETCD, loader)) {
            candidates.add(EtcdBackend.candidate(properties, beans));
        }
        if (arePresent(ZOOKEEPER, loader)) {
            candidates.add(ZooKeeperBackend.candidate(properties, beans));
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
}
