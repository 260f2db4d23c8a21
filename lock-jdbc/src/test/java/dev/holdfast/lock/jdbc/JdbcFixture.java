package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** One strategy on one database; each backend has a pool of its own. */
final class JdbcFixture implements LockFixture {
    /** How long a server may take to let a backend begin, on a machine that is busy. */
    private static final String ALIVE = "com.zaxxer.hikari.aliveBypassWindowMs";

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final Db db;
    private final JdbcStrategy strategy;
    private final int poolSize;
    private final AtomicLong statements = new AtomicLong();
    private final List<String> zones = List.of("-05:00", JumpingZone.again(Duration.ofSeconds(5)));
    private final AtomicInteger backends = new AtomicInteger();
    private final String product;

    JdbcFixture(Db db, JdbcStrategy strategy) throws SQLException {
        this(db, strategy, poolSize(strategy));
    }

    private static int poolSize(JdbcStrategy strategy) {
        return switch (strategy) {
            case ROW_LOCK -> 600;
            case SESSION -> 24;
            case VERSION, UNIQUE_INDEX -> 6;
        };
    }

    /** Whether its locks belong to sessions. */
    private boolean isOfSessions() {
        return strategy == JdbcStrategy.ROW_LOCK || strategy == JdbcStrategy.SESSION;
    }

    JdbcFixture(Db db, JdbcStrategy strategy, int poolSize) throws SQLException {
        this.db = db;
        this.strategy = strategy;
        this.poolSize = poolSize;
        try (Connection connection = db.connect()) {
            // "11.8.6-MariaDB-0+deb13u1 from Debian" is 11.8.6.
            product = connection.getMetaData().getDatabaseProductVersion().replaceFirst("^([0-9.]+).*", "$1");
        }
    }

    @Override
    public String name() {
        return db.name + " " + product + ", " + strategy + (poolSize == 1 ? ", a pool of 1" : "") + db.origin;
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(db.proxiedUrl());
    }

    @Override
    public List<FaultProxy> proxies() {
        return List.of(db.proxy());
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        return newBackend(db.urlThrough(others.get(0)));
    }

    private LockBackend newBackend(String url) {
        HikariDataSource pool = strategy == JdbcStrategy.SESSION ? validating(() -> pool(url)) : pool(url);
        return JdbcLocks.builder(new CountingDataSource(pool, statements), pool::close)
                .strategy(strategy)
                .createTable(true)
                .deadline(System.nanoTime() + PATIENCE.toNanos())
                .backend(LockClientOptions.defaults());
    }

    /** A pool that tests each connection: it cannot evict those that {@link CountingDataSource} wraps. */
    private static HikariDataSource validating(Supplier<HikariDataSource> pool) {
        String before = System.setProperty(ALIVE, "0");
        try {
            return pool.get();
        } finally {
            if (before == null) {
                System.clearProperty(ALIVE);
            } else {
                System.setProperty(ALIVE, before);
            }
        }
    }

    private HikariDataSource pool(String url) {
        return db.pool(config -> {
            config.setJdbcUrl(url);
            config.setMaximumPoolSize(poolSize);
            if (!db.isServer()) { // the sessions of two backends are in two zones, and one of them changes its clock
                config.setConnectionInitSql("SET TIME ZONE '" + zones.get(backends.getAndIncrement() % 2) + "'");
            }
            if (isOfSessions()) { // each hold takes a new connection
                config.setConnectionTimeout(BackendDriver.TIMEOUT_MILLIS);
            }
        });
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Set<Capability> capabilities() {
        EnumSet<Capability> all = EnumSet.allOf(Capability.class);
        if (!db.isServer()) {
            all.removeAll(EnumSet.of(Capability.PAUSE, Capability.RESTART, Capability.PARTITION));
        }
        if (!db.isServer() || isOfSessions()) {
            all.remove(Capability.LATE); // such a lock is held until the server learns that its connection has gone
        }
        if (strategy == JdbcStrategy.SESSION) {
            all.remove(Capability.LAPSE); // its session's heartbeat keeps all locks
            all.remove(Capability.EXPIRE); // nothing ends one lock of a session alone; see SessionLockTest
        }
        return all;
    }

    /** A row lock ends connections in use, of which HikariCP writes a line on the thread that used them. */
    @Override
    public boolean canBlockLog() {
        return strategy != JdbcStrategy.ROW_LOCK;
    }

    @Override
    public boolean listsAtOnce() {
        return strategy != JdbcStrategy.SESSION;
    }

    @Override
    public Set<Demand.Kind> demands() {
        if (strategy == JdbcStrategy.VERSION) {
            return EnumSet.allOf(Demand.Kind.class);
        }
        boolean readers = strategy == JdbcStrategy.SESSION && Product.of(db.dialect) == Product.POSTGRESQL;
        return readers ? EnumSet.of(Demand.Kind.EXCLUSIVE, Demand.Kind.SHARED) : EnumSet.of(Demand.Kind.EXCLUSIVE);
    }

    @Override
    public void expire(String name) throws Exception {
        if (strategy == JdbcStrategy.ROW_LOCK) {
            RowLockAdministrator.kill(db, name);
            return;
        }
        if (strategy == JdbcStrategy.SESSION) {
            SessionAdministrator.kill(db, name);
            return;
        }
        String past =
                db.dialect == DatabaseDialects.H2 ? "TIMESTAMP WITH TIME ZONE '2001-01-01 00:00:00Z'" : "'2001-01-01'";
        withName(
                "UPDATE " + strategy.table().defaultTable() + " SET expires = " + past + " WHERE name = ?",
                name,
                PreparedStatement::executeUpdate);
    }

    @Override
    public long entries(String name) throws SQLException {
        if (strategy == JdbcStrategy.ROW_LOCK) {
            return RowLockAdministrator.isLocked(db, name) ? 1 : 0;
        }
        if (strategy == JdbcStrategy.SESSION) {
            return SessionAdministrator.holder(db, name) == 0 ? 0 : 1;
        }
        String live = "SELECT count(*) FROM " + strategy.table().defaultTable()
                + " WHERE name = ? AND owner IS NOT NULL AND expires > " + db.dialect.now();
        return withName(live, name, statement -> {
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        });
    }

    private <T> T withName(String sql, String name, Query<T> query) throws SQLException {
        try (Connection connection = db.connect();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setBytes(1, LockName.utf8(name));
            return query.run(statement);
        }
    }

    private interface Query<T> {
        T run(PreparedStatement statement) throws SQLException;
    }

    @Override
    public void pause() {
        db.process().pause();
    }

    @Override
    public void resume() {
        db.process().resume();
    }

    @Override
    public void restart() throws Exception {
        db.process().restart();
    }

    @Override
    public void partition() {
        if (isOfSessions()) {
            db.proxy().hold(); // its locks cannot outlive their connections
        } else {
            db.proxy().blackHole();
        }
    }

    @Override
    public void heal() {
        if (!isOfSessions()) {
            db.proxy().resetAll();
        }
        db.proxy().pass();
    }

    @Override
    public long commands() {
        return statements.get();
    }

    @Override
    public void close() {
        db.close();
    }
}
