package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.aop.LockedAdvisor;
import dev.holdfast.lock.spring.hold.InTransaction;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;

/**
 * The properties of an application that begin with {@code holdfast}. What is not set keeps the library's default. Immutable.
 *
 * @param enabled Whether there is a lock client.
 * @param uri Address of the lock store, such as redis://host or etcd://host. By default the application's own data source or
 *     connection is used.
 * @param backend Which of the application's own stores has the locks, if several could.
 * @param who Name under which the holder of a lock is shown. By default spring.application.name.
 * @param requestTimeout How long one request to the store may take. Default 3s.
 * @param unavailableTimeout For how long an acquisition without a deadline retries while the store fails. Default 30s.
 * @param handOffLimit How many times in a row a lock may pass from thread to thread of this process, 0 to 1023. Default 1000.
 * @param handOffTime For how long after its grant a lock may pass from thread to thread of this process. Default 10ms.
 * @param leakTracing Whether each lease records where it was acquired, for the warning about one that was never closed.
 * @param clients Further lock clients, by name, which is the qualifier of the bean.
 * @param lock Options of all locks that have none of their own.
 * @param locks Named options, by id; each starts from holdfast.lock.
 * @param jdbc Locks in the application's database.
 * @param redis Locks over the application's Redis connection.
 * @param etcd Locks over the application's jetcd client.
 * @param zookeeper Locks over the application's CuratorFramework.
 * @param annotation What annotated methods do that do not say otherwise.
 * @param metrics Meters of the locks.
 */
@ConfigurationProperties(prefix = "holdfast", ignoreUnknownFields = false)
public record HoldfastProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String uri,
        @Nullable Backend backend,
        @Nullable String who,
        @Nullable Duration requestTimeout,
        @Nullable Duration unavailableTimeout,
        @Nullable Integer handOffLimit,
        @Nullable Duration handOffTime,
        @Nullable Boolean leakTracing,
        Map<String, Client> clients,
        Lock lock,
        Map<String, Lock> locks,
        Jdbc jdbc,
        Redis redis,
        Etcd etcd,
        Zookeeper zookeeper,
        Annotation annotation,
        Metrics metrics) {

    /**
     * Fills in the groups of which nothing is set, so that Spring need not bind their defaults,
     * which costs time at each start.
     *
     * @param enabled as above
     * @param uri as above
     * @param backend as above
     * @param who as above
     * @param requestTimeout as above
     * @param unavailableTimeout as above
     * @param handOffLimit as above
     * @param handOffTime as above
     * @param leakTracing as above
     * @param clients as above
     * @param lock as above
     * @param locks as above
     * @param jdbc as above
     * @param redis as above
     * @param etcd as above
     * @param zookeeper as above
     * @param annotation as above
     * @param metrics as above
     */
    public HoldfastProperties {
        clients = clients == null ? Map.of() : clients;
        lock = lock == null ? Lock.NOT_SET : lock;
        locks = locks == null ? Map.of() : locks;
        jdbc = jdbc == null ? Jdbc.NOT_SET : jdbc;
        redis = redis == null ? Redis.NOT_SET : redis;
        etcd = etcd == null ? Etcd.NOT_SET : etcd;
        zookeeper = zookeeper == null ? Zookeeper.NOT_SET : zookeeper;
        annotation = annotation == null ? Annotation.NOT_SET : annotation;
        metrics = metrics == null ? Metrics.NOT_SET : metrics;
    }

    /** Without the address, which may have a password. */
    @Override
    public String toString() {
        return "HoldfastProperties[enabled=" + enabled + ", uri=" + masked(uri) + ", backend="
                + backend + ", who=" + who + ", clients=" + clients + ", lock=" + lock + ", locks=" + locks + ", jdbc="
                + jdbc + ", redis="
                + redis
                + ", etcd=" + etcd + ", zookeeper=" + zookeeper + ", annotation=" + annotation + ", metrics=" + metrics
                + "]";
    }

    /** Passwords stand before hosts and in parameters, in ways that differ from store to store: only the scheme is certain to be none. */
    private static String masked(@Nullable String uri) {
        return uri == null ? "none" : uri.substring(0, uri.indexOf(':') + 1) + "******";
    }

    /**
     * A lock client beside others.
     *
     * @param uri Address of its lock store.
     * @param who Name under which the holder of a lock is shown. Default holdfast.who.
     * @param requestTimeout How long one request to the store may take. Default holdfast.request-timeout.
     * @param lock Options of its locks; those that are not set are those of holdfast.lock.
     */
    public record Client(
            @Nullable String uri,
            @Nullable String who,
            @Nullable Duration requestTimeout,
            Lock lock) {

        /**
         * Fills in what is not set.
         *
         * @param uri as above
         * @param who as above
         * @param requestTimeout as above
         * @param lock as above
         */
        public Client {
            lock = lock == null ? Lock.NOT_SET : lock;
        }

        /** Without the address, which may have a password. */
        @Override
        public String toString() {
            return "Client[uri=" + masked(uri) + ", who=" + who + ", lock=" + lock + "]";
        }
    }

    /** A module that can use what the application has: its data source, connection or client. */
    public enum Backend {
        /** {@code lock-jdbc} on the {@code DataSource}. */
        JDBC("lock-jdbc", "DataSource"),
        /** {@code lock-redis} on the {@code LettuceConnectionFactory}. */
        REDIS("lock-redis", "LettuceConnectionFactory"),
        /** {@code lock-etcd} on the jetcd {@code Client}. */
        ETCD("lock-etcd", "jetcd Client"),
        /** {@code lock-zookeeper} on the {@code CuratorFramework}. */
        ZOOKEEPER("lock-zookeeper", "CuratorFramework");

        private final String module;
        private final String beanType;

        Backend(String module, String beanType) {
            this.module = module;
            this.beanType = beanType;
        }

        String module() {
            return module;
        }

        String beanType() {
            return beanType;
        }

        /** The value of {@code holdfast.backend}. */
        String property() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** How the database keeps a lock; docs/jdbc.md compares them. */
    public enum Strategy {
        /** One row a name that stays. */
        VERSION,
        /** One row for each name in use. */
        UNIQUE_INDEX,
        /** A row that a transaction keeps locked, on a connection of its own. */
        ROW_LOCK,
        /** A lock of the database's own that belongs to a session; PostgreSQL and MariaDB. */
        SESSION
    }

    /** When the tables are created. */
    public enum InitializeSchema {
        /** At each start, if they are missing. */
        ALWAYS,
        /** On an embedded database only. */
        EMBEDDED,
        /** Never; the application's own migrations create them. */
        NEVER
    }

    /**
     * Options of locks; null means not set.
     *
     * @param lease How long a grant lasts without renewal: for how long a crashed holder blocks others. Default 15s.
     * @param renewal Whether held locks are renewed in the background (auto) or end with their lease (none). Default auto.
     * @param maxHold Longest time that one hold may last. Default none.
     * @param minHold Shortest time that a lock stays taken, even if it is released earlier. Default none.
     * @param fair Whether processes get the lock strictly in the order of their requests. Default false.
     * @param interruptOnLoss Whether a thread that holds the lock is interrupted when the lease is lost. Default false.
     */
    public record Lock(
            @Nullable Duration lease,
            dev.holdfast.lock.@Nullable Renewal renewal,
            @Nullable Duration maxHold,
            @Nullable Duration minHold,
            @Nullable Boolean fair,
            @Nullable Boolean interruptOnLoss) {
        static final Lock NOT_SET = new Lock(null, null, null, null, null, null);
    }

    /**
     * Locks in the application's database.
     *
     * @param initializeSchema When the tables of the locks are created.
     * @param strategy How the database keeps a lock. Default version.
     * @param table Name of the table. By default the strategy's own.
     * @param notifications Whether PostgreSQL's NOTIFY wakes waiters. By default if the pool has three connections or more.
     */
    public record Jdbc(
            @DefaultValue("embedded") InitializeSchema initializeSchema,
            @Nullable Strategy strategy,
            @Nullable String table,
            @Nullable Boolean notifications) {
        static final Jdbc NOT_SET = new Jdbc(InitializeSchema.EMBEDDED, null, null, null);
    }

    /**
     * Locks over the application's Redis connection.
     *
     * @param prefix First part of all keys and channels. Default holdfast.
     */
    public record Redis(@Nullable String prefix) {
        static final Redis NOT_SET = new Redis(null);
    }

    /**
     * Locks over the application's jetcd client.
     *
     * @param prefix First part of all keys; ends with a slash. Default holdfast/.
     */
    public record Etcd(@Nullable String prefix) {
        static final Etcd NOT_SET = new Etcd(null);
    }

    /**
     * Locks over the application's CuratorFramework.
     *
     * @param basePath Path below which the locks are. Default /holdfast.
     */
    public record Zookeeper(@Nullable String basePath) {
        static final Zookeeper NOT_SET = new Zookeeper(null);
    }

    /**
     * What annotated methods do that do not say otherwise.
     *
     * @param enabled Whether annotated methods are locked.
     * @param longestWait How long a call waits for the lock. By default as long as it takes.
     * @param order Order of the advice. The default stands just outside of transactions.
     * @param inTransaction What a call within a transaction does: defer the release to its end, the same with a warning, or
     *     fail.
     */
    public record Annotation(
            @DefaultValue("true") boolean enabled,
            @Name("wait") @Nullable Duration longestWait,
            @DefaultValue("2147483646") int order,
            @DefaultValue("defer") InTransaction inTransaction) {
        static final Annotation NOT_SET = new Annotation(true, null, LockedAdvisor.DEFAULT_ORDER, InTransaction.DEFER);
    }

    /**
     * Meters of the locks.
     *
     * @param enabled Whether the locks are measured, if Micrometer and lock-micrometer are there.
     * @param maxNames How many different values the tag of the lock's name may have; further ones count as other.
     */
    public record Metrics(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("100") int maxNames) {
        static final Metrics NOT_SET = new Metrics(true, 100);
    }
}
