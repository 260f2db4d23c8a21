package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Locks on a pool whose connections the application has all taken, and the threads of a client that waits much. */
@House("middlebox:limits")
final class SmallPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Each has a connection, in a transaction, and waits for the lock: there is none left to renew and to release with. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "H2"})
    void transactionsThatWaitHaveAllConnections_leaseIsRenewedAndHandedOver(SharedDb shared) throws Exception {
        boolean renewed = false;
        for (int seconds = 4; !renewed && seconds <= 16; seconds *= 2) { // a busy machine may lose a short one
            renewed = isRenewedAndHandedOver(shared, Duration.ofSeconds(seconds));
        }
        assertThat(renewed).as("valid for longer than its length").isTrue();
    }

    private static boolean isRenewedAndHandedOver(SharedDb shared, Duration length) throws Exception {
        int size = 2;
        LockOptions options = LockOptions.builder().lease(length).build();
        AtomicInteger renewals = new AtomicInteger();
        ExecutorService executor = Executors.newFixedThreadPool(size);
        try (HikariDataSource pool = shared.db().pool(config -> {
                    config.setMaximumPoolSize(size);
                    config.setConnectionTimeout(30_000);
                });
                LockClient client = JdbcLocks.builder(pool)
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .build()) {
            client.addListener(new LockListener() {
                @Override
                public void renewed(String name, long token) {
                    renewals.incrementAndGet();
                }
            });
            Lease lease = client.lock("orders", options).acquire();
            List<Future<Long>> waiting = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                waiting.add(executor.submit(() -> {
                    try (Connection transaction = pool.getConnection()) {
                        transaction.setAutoCommit(false);
                        try (Lease next = client.lock("orders", options).acquire(PATIENCE)) {
                            return next.token();
                        } finally {
                            transaction.rollback();
                        }
                    }
                }));
            }
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == size);
            int before = renewals.get();
            await().atMost(PATIENCE).until(() -> renewals.get() >= before + 4 || !lease.isValid());
            if (!lease.isValid()) {
                return false;
            }
            lease.close();
            for (Future<Long> each : waiting) {
                assertThat(each.get()).isGreaterThan(lease.token());
            }
            return true;
        } finally {
            executor.shutdownNow();
        }
    }

    /** The largest number of concurrent attempts waits in a pool that hangs, and their callers have given up. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "H2"})
    void attemptsHang_leaseIsRenewedAndReleased(SharedDb shared) throws Exception {
        int most = 4;
        AtomicInteger hanging = new AtomicInteger(Integer.MIN_VALUE);
        CountDownLatch hang = new CountDownLatch(1);
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = JdbcLocks.builder(hanging(pool, hanging, most, hang))
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .notifications(false)
                        .backend(LockClientOptions.defaults())) {
            Grant held = BackendDriver.acquire(backend, "held");
            hanging.set(0);
            for (int i = 0; hanging.get() < most && i < 1_000; i++) { // a busy machine may be too late for one
                BackendDriver attempt = BackendDriver.of(backend, "other/" + i);
                assertThatThrownBy(() -> BackendDriver.answer(attempt.send(0, 100)))
                        .isInstanceOf(LockUnavailableException.class);
            }
            await().atMost(PATIENCE).until(() -> hanging.get() >= most);

            assertThat(BackendDriver.renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(BackendDriver.release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
            hang.countDown();
        } finally {
            hang.countDown();
        }
    }

    /** A data source that reports nothing about itself, and whose next connections, in the given number, never arrive. */
    private static DataSource hanging(DataSource pool, AtomicInteger asked, int most, CountDownLatch hang) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("isWrapperFor")) {
                        return false;
                    }
                    if (method.getName().equals("getConnection")) {
                        int number = asked.incrementAndGet();
                        if (number > 0 && number <= most) {
                            hang.await();
                        }
                    }
                    return method.invoke(pool, arguments);
                });
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "H2"})
    void threeHundredAsynchronousWaits_sixteenThreads(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(8));
                LockClient holder =
                        JdbcLocks.builder(pool).table(table).createTable(true).build()) {
            LockOptions options =
                    LockOptions.builder().lease(Duration.ofMinutes(10)).build();
            List<Lease> held = new ArrayList<>(); // one that is dropped may be collected, and so ends
            for (int i = 0; i < 300; i++) {
                held.add(holder.lock("async/" + i, options).acquire());
            }
            Set<Thread> others = threads();
            Set<Thread> most = Set.of();
            try (LockClient client = JdbcLocks.builder(pool).table(table).build()) {
                List<CompletableFuture<Lease>> waits = new ArrayList<>();
                for (int i = 0; i < 300; i++) {
                    waits.add(client.lock("async/" + i).acquireAsync(Duration.ofSeconds(3)));
                }
                while (!waits.stream().allMatch(CompletableFuture::isDone)) {
                    Set<Thread> now = threads();
                    now.removeAll(others);
                    most = now.size() > most.size() ? now : most;
                    LockSupport.parkNanos(1_000_000);
                }
                assertThat(waits).allMatch(CompletableFuture::isCompletedExceptionally);
            }
            assertThat(held).allMatch(Lease::isValid);
            assertThat(most).as("threads of the client, at the peak").hasSizeBetween(1, 16);
        }
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().startsWith("holdfast-"))
                .filter(each -> !each.getName().startsWith("holdfast-proxy-")) // the tests' own
                .collect(Collectors.toSet());
    }
}
