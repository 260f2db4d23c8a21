package dev.holdfast.benchmarks.candidate;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import java.time.Duration;
import java.util.Set;

/** Holdfast on an application's connection pool. */
final class HoldfastJdbc implements Candidate {
    private final String name;
    private final JdbcStrategy strategy;
    private final LockClientOptions options;

    private HoldfastJdbc(String name, JdbcStrategy strategy, LockClientOptions options) {
        this.name = name;
        this.strategy = strategy;
        this.options = options;
    }

    static HoldfastJdbc defaults() {
        return new HoldfastJdbc("holdfast", JdbcStrategy.VERSION, LockClientOptions.defaults());
    }

    /** As {@code fair} on the other stores: no lock goes from thread to thread without the server. */
    static HoldfastJdbc fair() {
        return new HoldfastJdbc(
                "holdfast-fair",
                JdbcStrategy.VERSION,
                LockClientOptions.builder().handOffLimit(0).build());
    }

    static HoldfastJdbc uniqueIndex() {
        return new HoldfastJdbc("holdfast-unique-index", JdbcStrategy.UNIQUE_INDEX, LockClientOptions.defaults());
    }

    static HoldfastJdbc rowLock() {
        return new HoldfastJdbc("holdfast-row-lock", JdbcStrategy.ROW_LOCK, LockClientOptions.defaults());
    }

    static HoldfastJdbc session() {
        return new HoldfastJdbc("holdfast-session", JdbcStrategy.SESSION, LockClientOptions.defaults());
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.HOLDFAST;
    }

    @Override
    public Set<Primitive> primitives() {
        return name.equals("holdfast") ? Set.of(Primitive.values()) : Set.of(Primitive.LOCK);
    }

    @Override
    public Duration outlives() {
        return LockOptions.defaults().lease();
    }

    @Override
    public boolean representative() {
        return name.equals("holdfast");
    }

    @Override
    public boolean forHandingOn() {
        return strategy == JdbcStrategy.ROW_LOCK || strategy == JdbcStrategy.SESSION;
    }

    @Override
    public Session open(String address) {
        HikariDataSource pool = Pools.open(address);
        LockClient client = JdbcLocks.builder(pool)
                .strategy(strategy)
                .createTable(true)
                .options(options)
                .build();
        return new HoldfastSession(client, pool::close);
    }
}
