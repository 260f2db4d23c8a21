package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.boot.HoldfastProperties.InitializeSchema;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Refuses properties that apply to locks over the application's own beans if the address of {@code holdfast.uri} leads to the same kind
 * of store. Without that, two applications that are meant to be apart would share their locks.
 */
final class PropertiesOfBeans {
    private PropertiesOfBeans() {}

    static void refuse(String uri, HoldfastProperties properties) {
        String scheme = uri.substring(0, Math.max(0, uri.indexOf(':'))).toLowerCase(Locale.ROOT);
        if (scheme.equals("jdbc")) {
            HoldfastProperties.Jdbc jdbc = properties.jdbc();
            refuse("holdfast.jdbc.table", jdbc.table(), "the parameter holdfast.table of the address");
            refuse("holdfast.jdbc.strategy", jdbc.strategy(), "the parameter holdfast.strategy of the address");
            refuse(
                    "holdfast.jdbc.notifications",
                    jdbc.notifications(),
                    "the parameter holdfast.notifications of the address");
            refuse(
                    "holdfast.jdbc.initialize-schema",
                    jdbc.initializeSchema() == InitializeSchema.ALWAYS ? "always" : null,
                    "the parameter holdfast.createTable=true of the address");
        } else if (scheme.startsWith("redis") || scheme.startsWith("valkey")) {
            refuse(
                    "holdfast.redis.prefix",
                    properties.redis().prefix(),
                    "a LockClient bean, made by RedisLocks.builder");
        } else if (scheme.startsWith("etcd")) {
            refuse("holdfast.etcd.prefix", properties.etcd().prefix(), "the parameter prefix of the address");
        } else if (scheme.equals("zookeeper") || scheme.equals("zk")) {
            refuse("holdfast.zookeeper.base-path", properties.zookeeper().basePath(), "the path of the address");
        }
    }

    private static void refuse(String property, @Nullable Object value, String instead) {
        if (value != null) {
            throw RefusedConfigurationException.of(
                    property,
                    new IllegalArgumentException(
                            "it has no effect on the store of holdfast.uri, only on the application's own;"
                                    + " remove it and use " + instead));
        }
    }
}
