package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The server is killed when sessions have just been opened, so that it has written little of its sequence to the disk. */
final class SessionCrashTest {
    private static final int CLIENTS = 6;

    enum Server {
        POSTGRESQL(Db::postgres),
        MARIADB(() -> Db.mariadb("mariadb"));

        private final Callable<Db> start;

        Server(Callable<Db> start) {
            this.start = start;
        }
    }

    private static LockClient client(Db db) {
        HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(2));
        return JdbcLocks.builder(pool, pool::close)
                .strategy(JdbcStrategy.SESSION)
                .createTable(true)
                .build();
    }

    /** MariaDB's log in a file system in memory is the memory of the process, so that a kill would take nothing back. */
    private static Db onDisk(Server server) throws Exception {
        String inMemory = System.clearProperty("holdfast.servers.memory");
        try {
            return server.start.call();
        } finally {
            if (inMemory != null) {
                System.setProperty("holdfast.servers.memory", inMemory);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void serverIsKilled_afterManySessionsWereOpened_tokensRise(Server server) throws Exception {
        try (Db db = onDisk(server)) {
            List<LockClient> clients = new ArrayList<>();
            try {
                for (int i = 0; i < CLIENTS; i++) {
                    clients.add(client(db));
                }
                long highest = 0;
                for (LockClient each : clients) {
                    try (Lease lease = each.lock("crash").acquire()) {
                        highest = Math.max(highest, lease.token());
                    }
                }

                db.process().restart();

                try (LockClient next = client(db);
                        Lease lease = next.lock("crash").acquire(Duration.ofSeconds(60))) {
                    assertThat(lease.token()).isGreaterThan(highest);
                }
            } finally {
                clients.forEach(LockClient::close);
            }
        }
    }
}
