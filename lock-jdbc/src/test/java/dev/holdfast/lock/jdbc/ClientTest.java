package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The whole of it: engine, backend and database. */
final class ClientTest {

    private static String uri(Db db, String table) {
        String user = "user=" + db.user();
        String password = "password=" + db.password();
        return db.dialect == Dialect.H2
                ? db.url() + ";" + user + ";" + password + ";holdfast.table=" + table
                : db.url() + "?holdfast.createTable=true&" + user + "&" + password + "&holdfast.table=" + table;
    }

    @ParameterizedTest
    @EnumSource
    void connect_uri_locksAndTellsTheHolder(SharedDb shared) throws Exception {
        String uri = uri(shared.db(), SharedDb.newTable());
        LockClientOptions options = LockClientOptions.builder().who("tëst 😀").build();
        try (LockClient client = LockClient.connect(uri, options);
                LockClient other = LockClient.connect(uri)) {
            try (Lease lease = client.lock("orders/42").acquire()) {
                assertThat(lease.token()).isPositive();
                assertThat(other.lock("orders/42").tryAcquire()).isEmpty();
                HolderInfo holder = other.holder("orders/42").orElseThrow();
                assertThat(holder.who()).isEqualTo("tëst 😀");
                assertThat(holder.pid()).isEqualTo(ProcessHandle.current().pid());
                assertThat(Math.abs(Duration.between(holder.since(), java.time.Instant.now())
                                .toSeconds()))
                        .isLessThan(60);
            }
            try (Lease lease = other.lock("orders/42").acquire(Duration.ofSeconds(20))) {
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @Test
    void connect_mariaDb_statementsAreReadOnce() throws Exception {
        Db db = SharedDb.MARIADB.db();
        try (LockClient client = LockClient.connect(uri(db, SharedDb.newTable()) + "&holdfast.poolSize=1")) {
            DistributedLock lock = client.lock("orders/42");
            lock.lock();
            lock.unlock();
            lock.lock();
            lock.unlock();
            long prepared = status(db, "COM_STMT_PREPARE");
            long executed = status(db, "COM_STMT_EXECUTE");
            for (int i = 0; i < 10; i++) {
                lock.lock();
                lock.unlock();
            }
            assertThat(status(db, "COM_STMT_EXECUTE") - executed).isEqualTo(20);
            assertThat(status(db, "COM_STMT_PREPARE") - prepared).isZero();
        }
    }

    private static long status(Db db, String variable) throws Exception {
        return db.number(
                "SELECT variable_value FROM information_schema.global_status WHERE variable_name = '" + variable + "'");
    }

    @Test
    void connect_embeddedH2_createsTheTableUnlessToldNotTo() {
        try (LockClient client = LockClient.connect("jdbc:h2:mem:fresh1")) {
            assertThat(client.lock("a").tryLock()).isTrue();
            client.lock("a").unlock();
        }
        org.assertj.core.api.Assertions.assertThatThrownBy(
                        () -> LockClient.connect("jdbc:h2:mem:fresh2;holdfast.createTable=false"))
                .isInstanceOf(dev.holdfast.lock.LockConfigurationException.class)
                .hasMessageContaining("CREATE TABLE");
    }

    @ParameterizedTest
    @EnumSource
    void lock_reenteredHundredTimes_oneStatementEachWay(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            DistributedLock lock = counted.client.lock("deep");
            lock.lock();
            lock.unlock();

            long before = counted.count.get();
            for (int i = 0; i < 100; i++) {
                lock.lock();
            }
            assertThat(counted.count.get() - before).as("to acquire").isEqualTo(1);
            for (int i = 0; i < 100; i++) {
                lock.unlock();
            }
            assertThat(counted.count.get() - before)
                    .as("to acquire and release")
                    .isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource
    void idle_costsNothing(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            DistributedLock lock = counted.client.lock("idle");
            lock.lock();
            lock.unlock();
            long before = counted.count.get();
            await().during(1_500, TimeUnit.MILLISECONDS)
                    .atMost(10, TimeUnit.SECONDS)
                    .until(() -> counted.count.get() == before);
        }
    }

    @ParameterizedTest
    @EnumSource
    void renewal_thousandLeases_oneStatementATick(SharedDb shared) throws Exception {
        for (int leaseSeconds = 30; !renewedAtOnce(shared, Duration.ofSeconds(leaseSeconds)); leaseSeconds *= 2) {
            assertThat(leaseSeconds)
                    .as("seconds of a lease in a sixth of which this machine acquires 1,000 locks")
                    .isLessThan(300);
        }
    }

    /** Leases fall into step if they were acquired within a sixth of their length; returns false if they were not. */
    private static boolean renewedAtOnce(SharedDb shared, Duration lease) throws Exception {
        LockOptions options = LockOptions.builder().lease(lease).build();
        try (Counted counted = new Counted(shared.db())) {
            Set<String> renewed = ConcurrentHashMap.newKeySet();
            counted.client.addListener(new LockListener() {
                @Override
                public void renewed(String name, long token) {
                    renewed.add(name);
                }
            });
            List<Lease> leases = new ArrayList<>();
            long startNanos = System.nanoTime();
            for (int i = 0; i < 1_000; i++) {
                leases.add(counted.client.lock("many/" + i, options).acquire());
            }
            long before = counted.count.get();
            if (System.nanoTime() - startNanos > lease.toNanos() / 7) {
                return false;
            }
            await().atMost(lease).until(() -> renewed.size() == 1_000);
            assertThat(counted.count.get() - before).as("statements").isEqualTo(1);
            leases.forEach(Lease::close);
            return true;
        }
    }

    @ParameterizedTest
    @EnumSource
    void threads_ofOneProcess_areOneAcquisition(SharedDb shared) throws Exception {
        int threads = 32;
        int rounds = 10;
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        AtomicInteger inside = new AtomicInteger();
        List<Long> tokens = java.util.Collections.synchronizedList(new ArrayList<>());
        try (Counted counted = new Counted(shared.db())) {
            DistributedLock lock = counted.client.lock("hot");
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                running.add(executor.submit(() -> {
                    for (int i = 0; i < rounds; i++) {
                        try (Lease lease = lock.acquire(Duration.ofSeconds(60))) {
                            assertThat(inside.incrementAndGet()).isEqualTo(1);
                            tokens.add(lease.token());
                            inside.decrementAndGet();
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
            assertThat(tokens).hasSize(threads * rounds).isSorted().doesNotHaveDuplicates();
            assertThat(counted.count.get() - counted.built)
                    .as("statements for " + threads * rounds + " acquisitions: never more than two each")
                    .isLessThanOrEqualTo(2L * threads * rounds);
        } finally {
            executor.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource
    void waiting_whileHeldForLong_atMostTwoStatementsASecond(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        try (Counted holder = new Counted(shared.db(), table);
                Counted waiter = new Counted(shared.db(), table);
                Lease lease = holder.client.lock("long").acquire()) {
            assertThat(lease.isValid()).isTrue();
            long start = System.nanoTime();
            Optional<Lease> none = waiter.client.lock("long").tryAcquire(Duration.ofSeconds(6));
            double seconds = (System.nanoTime() - start) / 1e9;
            assertThat(none).isEmpty();
            // The doubling from 10 ms to 1 s takes about eight polls.
            assertThat(waiter.count.get() - waiter.built).isLessThanOrEqualTo(8 + (long) (2 * seconds));
        }
    }

    /** A client that counts, by default on a table of its own. */
    private static final class Counted implements AutoCloseable {
        final AtomicLong count = new AtomicLong();
        final LockClient client;
        final long built;
        private final HikariDataSource pool;

        Counted(Db db) {
            this(db, SharedDb.newTable());
        }

        Counted(Db db, String table) {
            pool = db.pool(config -> {});
            client = JdbcLocks.builder(new CountingDataSource(pool, count))
                    .table(table)
                    .createTable(true)
                    .build();
            built = count.get();
        }

        @Override
        public void close() {
            client.close();
            pool.close();
        }
    }
}
