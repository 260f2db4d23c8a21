package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.process.SmallDisk;
import dev.holdfast.lock.testkit.support.Waits;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The disk under the table of locks is full: no page can be added to it. Another database of the server has another disk. */
@House(value = "process:disk", store = "postgresql")
@Tag(House.SLOW)
final class FullDiskTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int MEGABYTES = 32;
    private static final int MAX_NAMES = 20_000;
    private static final int SESSION_LOCKS = 500;

    private static LockClient client(PostgresServer server, String database, JdbcStrategy strategy) {
        String url = server.url().replaceFirst("/postgres$", "/" + database);
        LockClientOptions options = LockClientOptions.builder()
                .unavailableTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        return LockClient.connect(
                url + "?user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD
                        + "&holdfast.createTable=true&holdfast.strategy="
                        + strategy.name().toLowerCase(Locale.ROOT).replace('_', '-'),
                options);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "SESSION")
    void tableCannotGrow_newNamesAreRefused_heldLocksAreKeptOrReported_andAllWorksWhenThereIsSpace(
            JdbcStrategy strategy) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                PostgresServer server = PostgresServer.start()) {
            createDatabase(server, disk);
            try (LockClient client = client(server, "small", strategy);
                    LockClient waiter = client(server, "small", strategy);
                    LockClient elsewhere = client(server, "postgres", JdbcStrategy.VERSION);
                    BystanderLocks bystanders = BystanderLocks.hold(elsewhere, 10, LEASE)) {
                Lease held = client.lock("held").acquire(PATIENCE);
                disk.fill();
                List<Lease> more = new ArrayList<>();
                assertThat(refusal(client, strategy == JdbcStrategy.ROW_LOCK, more))
                        .hasMessageContaining("No space left on device")
                        .hasMessageContaining("name-");
                CompletableFuture<Lease> waiting = waiter.lock("held").acquireAsync(PATIENCE);
                awaitALease();
                assertThat(held.isValid() || held.lost().toCompletableFuture().isDone())
                        .as("%s is valid, or its loss was reported", held)
                        .isTrue();

                disk.free();
                client.lock("after").acquire(PATIENCE).close();
                held.close();
                try (Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    assertThat(next.token()).isGreaterThan(held.token());
                }
                more.forEach(Lease::close);
                bystanders.assertHeld();
            }
        }
    }

    /** Its locks are in the server's memory, and its tokens in a sequence. */
    @Test
    void sessionLocks_needNoSpace() throws Exception {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                PostgresServer server = PostgresServer.start()) {
            createDatabase(server, disk);
            try (LockClient client = client(server, "small", JdbcStrategy.SESSION);
                    LockClient waiter = client(server, "small", JdbcStrategy.SESSION)) {
                client.lock("held").acquire(PATIENCE).close();
                disk.fill();
                try (BystanderLocks bystanders = BystanderLocks.hold(client, SESSION_LOCKS, LEASE)) {
                    Lease held = client.lock("held").acquire(PATIENCE);
                    CompletableFuture<Lease> waiting = waiter.lock("held").acquireAsync(PATIENCE);
                    awaitALease();
                    assertThat(held.isValid()).isTrue();
                    held.close();
                    try (Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                        assertThat(next.token()).isGreaterThan(held.token());
                    }
                    bystanders.assertHeld();
                }
            }
        }
    }

    private static void createDatabase(PostgresServer server, SmallDisk disk) throws Exception {
        String space = disk.folder().resolve("space").toString();
        server.process().environment().run("mkdir", "-m", "700", space);
        try (Connection admin =
                        DriverManager.getConnection(server.url(), PostgresServer.USER, PostgresServer.PASSWORD);
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE TABLESPACE small LOCATION '" + space + "'");
            statement.execute("CREATE DATABASE small TABLESPACE small");
        }
    }

    /**
     * Acquires one name after the other until the server has no room for another one.
     *
     * @param release whether each is released at once: a row lock needs a connection while it is held, and its row stays
     */
    private static LockUnavailableException refusal(LockClient client, boolean release, List<Lease> more) {
        for (int i = 0; i < MAX_NAMES; i++) {
            try {
                Lease lease = client.lock("name-" + i).tryAcquire().orElseThrow();
                if (release) {
                    lease.close();
                } else {
                    more.add(lease);
                }
            } catch (LockUnavailableException refused) {
                return refused;
            }
        }
        throw new AssertionError("room for " + MAX_NAMES + " names on a full disk");
    }

    /** A renewal is due meanwhile. */
    private static void awaitALease() {
        long startNanos = System.nanoTime();
        Waits.until("a lease", () -> System.nanoTime() - startNanos > LEASE.toNanos());
    }
}
