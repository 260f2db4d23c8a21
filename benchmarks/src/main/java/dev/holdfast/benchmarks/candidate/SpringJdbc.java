package dev.holdfast.benchmarks.candidate;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** Spring Integration's lock registry on a table; it renews nothing by default. */
final class SpringJdbc implements Candidate {
    private final boolean postgresql;

    SpringJdbc(boolean postgresql) {
        this.postgresql = postgresql;
    }

    @Override
    public String name() {
        return "spring";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Duration outlives() {
        return DefaultLockRepository.DEFAULT_TTL;
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) {
        HikariDataSource pool = Pools.open(address);
        DefaultLockRepository repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.afterPropertiesSet();
        if (postgresql) {
            // As its documentation says for this database.
            repository.setInsertQuery(repository.getInsertQuery() + " ON CONFLICT DO NOTHING");
        }
        repository.afterSingletonsInstantiated();
        repository.start();
        JdbcLockRegistry registry = new JdbcLockRegistry(repository);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return NamedLock.of(registry.obtain(name));
            }

            @Override
            public void close() {
                repository.close();
                pool.close();
            }
        };
    }
}
