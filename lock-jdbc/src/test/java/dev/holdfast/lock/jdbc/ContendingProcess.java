package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Duration;

/** A child process that attempts one lock again and again; prints its grants and a last line with its errors. */
final class ContendingProcess {
    private ContendingProcess() {}

    /** Arguments: URL, user, password, strategy, attempts. */
    public static void main(String[] args) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(JdbcStrategy.valueOf(args[3]) == JdbcStrategy.ROW_LOCK ? 2 : 1);
        int errors = 0;
        int busy = 0;
        try (HikariDataSource pool = new HikariDataSource(config)) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .strategy(JdbcStrategy.valueOf(args[3]))
                    .createTable(true)
                    .backend(LockClientOptions.builder()
                            .requestTimeout(Duration.ofSeconds(60))
                            .build());
            int attempts = Integer.parseInt(args[4]);
            for (int i = 0; i < attempts; i++) {
                try {
                    if (tryAcquire(backend, "contended") instanceof AcquireResult.Granted granted) {
                        long from = System.nanoTime();
                        long token = granted.grant().token();
                        Thread.yield();
                        System.out.println("grant " + token + " " + from + " " + System.nanoTime());
                        release(backend, granted.grant());
                    } else {
                        busy++;
                    }
                } catch (RuntimeException e) {
                    errors++;
                    e.printStackTrace();
                }
            }
            backend.close();
        }
        System.out.println("end " + busy + " " + errors);
    }
}
