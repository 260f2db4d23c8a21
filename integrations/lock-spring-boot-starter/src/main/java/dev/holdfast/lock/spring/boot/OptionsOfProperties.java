package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.NamedLockOptions;
import dev.holdfast.lock.spring.boot.HoldfastProperties.InitializeSchema;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Makes the library's options of the application's properties. What is not set costs no lambda, each of which is a class to make. */
final class OptionsOfProperties {
    private OptionsOfProperties() {}

    static NamedLockOptions named(HoldfastProperties properties) {
        Duration wait = properties.annotation().longestWait();
        refuseNegative("holdfast.annotation.wait", wait, wait != null && wait.isNegative());
        int names = properties.metrics().maxNames();
        refuseNegative("holdfast.metrics.max-names", names, names < 0);
        LockOptions defaults = lock("holdfast.lock", LockOptions.builder(), properties.lock());
        Map<String, LockOptions> named = new TreeMap<>();
        for (Map.Entry<String, HoldfastProperties.Lock> own : properties.locks().entrySet()) {
            String prefix = "holdfast.locks." + own.getKey();
            named.put(own.getKey(), lock(prefix, defaults.toBuilder(), own.getValue()));
        }
        return new NamedLockOptions(defaults, named);
    }

    private static void refuseNegative(String property, @Nullable Object value, boolean negative) {
        if (negative) {
            throw RefusedConfigurationException.of(
                    property, new IllegalArgumentException("it must not be negative, got " + value));
        }
    }

    static LockClientOptions client(HoldfastProperties properties, LockOptions defaults, String application) {
        LockClientOptions.Builder builder = LockClientOptions.builder().lockOptions(defaults);
        String property = "who";
        try {
            builder.who(properties.who() == null ? application : properties.who());
            property = "request-timeout";
            if (properties.requestTimeout() != null) {
                builder.requestTimeout(properties.requestTimeout());
            }
            property = "unavailable-timeout";
            if (properties.unavailableTimeout() != null) {
                builder.unavailableTimeout(properties.unavailableTimeout());
            }
            property = "hand-off-limit";
            if (properties.handOffLimit() != null) {
                builder.handOffLimit(properties.handOffLimit());
            }
            property = "hand-off-time";
            if (properties.handOffTime() != null) {
                builder.handOffTime(properties.handOffTime());
            }
            property = "leak-tracing";
            if (properties.leakTracing() != null) {
                builder.leakTracing(properties.leakTracing());
            }
        } catch (IllegalArgumentException e) {
            throw RefusedConfigurationException.of("holdfast." + property, e);
        }
        return builder.build();
    }

    /** Returns the options of a client with a name, which start from those of the application. */
    static LockClientOptions client(
            String prefix, HoldfastProperties.Client own, LockClientOptions all, LockOptions defaults) {
        LockClientOptions.Builder builder =
                all.toBuilder().lockOptions(lock(prefix + ".lock", defaults.toBuilder(), own.lock()));
        set(prefix + ".who", own.who(), builder::who);
        set(prefix + ".request-timeout", own.requestTimeout(), builder::requestTimeout);
        return builder.build();
    }

    private static LockOptions lock(String prefix, LockOptions.Builder builder, HoldfastProperties.Lock own) {
        if (own == HoldfastProperties.Lock.NOT_SET) {
            return builder.build();
        }
        set(prefix + ".lease", own.lease(), builder::lease);
        set(prefix + ".renewal", own.renewal(), builder::renewal);
        set(prefix + ".max-hold", own.maxHold(), builder::maxHold);
        set(prefix + ".min-hold", own.minHold(), builder::minHold);
        set(prefix + ".fair", own.fair(), builder::fair);
        set(prefix + ".interrupt-on-loss", own.interruptOnLoss(), builder::interruptOnLoss);
        return get(prefix, builder::build);
    }

    /**
     * Closes a client and ends the start if its store refuses the options of {@code holdfast.locks.<id>}, such as a lease that it cannot
     * keep. Without that, each lock with them would fail.
     */
    static LockClient requireSupported(LockClient client, NamedLockOptions options) {
        try {
            options.ids()
                    .forEach(id -> get("holdfast.locks." + id, () -> client.lock("holdfast/options", options.get(id))));
            return client;
        } catch (RefusedConfigurationException e) {
            client.close();
            throw e;
        }
    }

    /** Hands a property on, if it is set. */
    static <T> void set(String property, @Nullable T value, Consumer<T> setter) {
        if (value != null) {
            get(property, () -> {
                setter.accept(value);
                return value;
            });
        }
    }

    private static <T> T get(String property, Supplier<T> action) {
        try {
            return action.get();
        } catch (IllegalArgumentException e) {
            throw RefusedConfigurationException.of(property, e);
        }
    }

    /**
     * Refuses properties that apply to locks over the application's own beans if the address of {@code holdfast.uri} leads to the same
     * kind of store. Without that, two applications that are meant to be apart would share their locks.
     */
    static void refuseBesideAddress(String uri, HoldfastProperties properties) {
        String scheme = uri.substring(0, Math.max(0, uri.indexOf(':'))).toLowerCase(Locale.ROOT);
        if (scheme.equals("jdbc")) {
            HoldfastProperties.Jdbc jdbc = properties.jdbc();
            refuseBesideAddress("holdfast.jdbc.table", jdbc.table(), "the parameter holdfast.table of the address");
            refuseBesideAddress(
                    "holdfast.jdbc.strategy", jdbc.strategy(), "the parameter holdfast.strategy of the address");
            refuseBesideAddress(
                    "holdfast.jdbc.notifications",
                    jdbc.notifications(),
                    "the parameter holdfast.notifications of the address");
            refuseBesideAddress(
                    "holdfast.jdbc.initialize-schema",
                    jdbc.initializeSchema() == InitializeSchema.ALWAYS ? "always" : null,
                    "the parameter holdfast.createTable=true of the address");
        } else if (scheme.startsWith("redis") || scheme.startsWith("valkey")) {
            refuseBesideAddress(
                    "holdfast.redis.prefix",
                    properties.redis().prefix(),
                    "a LockClient bean, made by RedisLocks.builder");
        } else if (scheme.startsWith("etcd")) {
            refuseBesideAddress(
                    "holdfast.etcd.prefix", properties.etcd().prefix(), "the parameter prefix of the address");
        } else if (scheme.equals("zookeeper") || scheme.equals("zk")) {
            refuseBesideAddress(
                    "holdfast.zookeeper.base-path", properties.zookeeper().basePath(), "the path of the address");
        }
    }

    private static void refuseBesideAddress(String property, @Nullable Object value, String instead) {
        if (value != null) {
            throw RefusedConfigurationException.of(
                    property,
                    new IllegalArgumentException(
                            "it has no effect on the store of holdfast.uri, only on the application's own;"
                                    + " remove it and use " + instead));
        }
    }
}
