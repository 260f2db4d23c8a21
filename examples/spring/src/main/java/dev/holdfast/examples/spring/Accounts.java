package dev.holdfast.examples.spring;

import dev.holdfast.lock.jdbc.JdbcLocks;
import java.sql.Connection;
import java.time.Duration;
import javax.sql.DataSource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Transactional;

/** Moves money. The locks are part of the transaction: the commit releases them, and so does the rollback. */
@Service
public class Accounts {
    private static final Duration WAIT = Duration.ofSeconds(20);

    private final DataSource dataSource;
    private final JdbcClient jdbc;

    Accounts(DataSource dataSource, JdbcClient jdbc) {
        this.dataSource = dataSource;
        this.jdbc = jdbc;
    }

    /**
     * Moves money from one account to another, if it is there.
     *
     * @param from whose
     * @param to to whom
     * @param amount how much
     * @throws IllegalArgumentException if the amount is negative
     * @throws IllegalStateException if there is not enough
     */
    @Transactional(
            isolation = Isolation.READ_COMMITTED) // at stricter levels, a read before the lock would make it fail
    public void transfer(long from, long to, long amount) {
        if (amount < 0) {
            throw new IllegalArgumentException("an amount must not be negative, got " + amount);
        }
        Connection connection = DataSourceUtils.getConnection(dataSource); // the transaction's
        // First the locks, in one order for all so that no two wait for each other, then the reads that they guard.
        JdbcLocks.lockInTransaction(connection, "account/" + Math.min(from, to), WAIT);
        JdbcLocks.lockInTransaction(connection, "account/" + Math.max(from, to), WAIT);
        long balance = balance(from);
        if (balance < amount) {
            throw new IllegalStateException("account " + from + " has " + balance + ", not " + amount);
        }
        set(from, balance - amount);
        set(to, balance(to) + amount);
    }

    private void set(long account, long balance) {
        jdbc.sql("UPDATE account SET balance = ? WHERE id = ?")
                .params(balance, account)
                .update();
    }

    /**
     * Returns what an account has.
     *
     * @param account whose
     * @return the balance
     */
    public long balance(long account) {
        return jdbc.sql("SELECT balance FROM account WHERE id = ?")
                .param(account)
                .query(Long.class)
                .single();
    }
}
