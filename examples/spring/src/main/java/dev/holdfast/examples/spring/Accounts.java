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

/** Moves money. The lock is part of the transaction: the commit releases it, and so does the rollback. */
@Service
public class Accounts {
    private final DataSource dataSource;
    private final JdbcClient jdbc;

    Accounts(DataSource dataSource, JdbcClient jdbc) {
        this.dataSource = dataSource;
        this.jdbc = jdbc;
    }

    /**
     * Takes money out of an account, if it is there.
     *
     * @param account whose
     * @param amount how much
     * @throws IllegalStateException if there is not enough
     */
    @Transactional(
            isolation = Isolation.READ_COMMITTED) // at stricter levels, a read before the lock would make it fail
    public void withdraw(long account, long amount) {
        Connection connection = DataSourceUtils.getConnection(dataSource); // the transaction's
        // First the lock, then the reads that it guards.
        JdbcLocks.lockInTransaction(connection, "account/" + account, Duration.ofSeconds(20));
        long balance = balance(account);
        if (balance < amount) {
            throw new IllegalStateException("account " + account + " has " + balance + ", not " + amount);
        }
        jdbc.sql("UPDATE account SET balance = ? WHERE id = ?")
                .params(balance - amount, account)
                .update();
    }

    /**
     * Tells what an account has.
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
