package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Only the answer to a statement that was sent after a renewal had begun confirms the locks of a session. */
final class SessionConfirmationTest {
    private static final Duration SOON = Duration.ofSeconds(20);
    /** A renewal that waits looks each millisecond. */
    private static final long LOOKS_MILLIS = 50;

    private static final String HEARTBEAT = "SELECT pg_catalog.pg_backend_pid()";

    private final List<Connection> taken = new CopyOnWriteArrayList<>();
    private final AtomicInteger heartbeats = new AtomicInteger();
    /** How many attempts wait for their answers, which the database has given already. */
    private final AtomicInteger late = new AtomicInteger();

    private final Semaphore executed = new Semaphore(0);
    private final Semaphore arrives = new Semaphore(0);

    private LockBackend backend(DataSource pool) {
        return JdbcInternals.backend(
                JdbcLocks.builder(late(pool))
                        .strategy(JdbcStrategy.SESSION)
                        .table(SharedDb.newTable())
                        .createTable(true),
                LockClientOptions.defaults());
    }

    @Test
    void answerToAnAttemptOfBefore_confirmsNothing() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {});
                LockBackend backend = backend(pool)) {
            Grant held = acquire(backend, "held");
            late.set(2);
            CompletableFuture<Grant> first = begun(() -> acquire(backend, "first"));
            assertThat(executed.tryAcquire(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
            CompletableFuture<Grant> second = begun(() -> acquire(backend, "second"));
            await().atMost(SOON).until(() -> threadsIn("SessionRequest", "await") == 2);
            CompletableFuture<List<RenewResult>> renewal = begun(() -> renew(backend, List.of(held)));
            await().atMost(SOON).until(() -> threadsIn("HoldingSession", "beat") == 1);
            int before = heartbeats.get();

            arrives.release(); // what the first attempt waits for
            await().atMost(SOON).until(() -> executed.tryAcquire() || heartbeats.get() > before);
            Thread.sleep(LOOKS_MILLIS);
            assertThat(renewal.isDone() && heartbeats.get() == before)
                    .as("confirmed, although nothing was answered that was sent since")
                    .isFalse();

            arrives.release();
            assertThat(renewal.get(SOON.toSeconds(), TimeUnit.SECONDS))
                    .hasOnlyElementsOfType(RenewResult.Renewed.class);
            first.get(SOON.toSeconds(), TimeUnit.SECONDS);
            second.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
    }

    /** Behind a proxy, the answer may be another session's, which says nothing of the other locks. */
    @Test
    void releaseOfALockThatTheSessionDoesNotHave_confirmsNothing_beforeTheSessionHasSaidWhichItIs() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {});
                LockBackend backend = backend(pool)) {
            Grant gone = acquire(backend, "gone");
            acquire(backend, "another");
            for (Connection each : taken) {
                if (!each.isClosed()) {
                    try (Statement statement = each.createStatement()) {
                        statement.execute("SELECT pg_advisory_unlock_all()");
                    }
                }
            }
            int before = heartbeats.get();

            assertThat(release(backend, gone)).isEqualTo(ReleaseResult.NOT_HELD);

            assertThat(heartbeats.get()).isGreaterThan(before);
        }
    }

    private static <T> CompletableFuture<T> begun(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, task -> new Thread(task).start());
    }

    /** How many threads are in that method. */
    private static long threadsIn(String type, String method) {
        return Thread.getAllStackTraces().values().stream()
                .filter(stack -> Arrays.stream(stack)
                        .anyMatch(frame -> frame.getClassName().endsWith("." + type)
                                && frame.getMethodName().equals(method)))
                .count();
    }

    /** Answers to some attempts come late. */
    private DataSource late(DataSource pool) {
        return proxy(DataSource.class, (self, method, arguments) -> {
            Object result = call(pool, method, arguments);
            if (result instanceof Connection connection) {
                taken.add(connection);
                return late(connection);
            }
            return result;
        });
    }

    private Connection late(Connection connection) {
        return proxy(Connection.class, (self, method, arguments) -> {
            Object result = call(connection, method, arguments);
            return result instanceof PreparedStatement statement ? late(statement, (String) arguments[0]) : result;
        });
    }

    private PreparedStatement late(PreparedStatement statement, String sql) {
        return proxy(PreparedStatement.class, (self, method, arguments) -> {
            Object result = call(statement, method, arguments);
            if (method.getName().equals("executeQuery") && sql.equals(HEARTBEAT)) {
                heartbeats.incrementAndGet();
            } else if (method.getName().equals("executeQuery")
                    && sql.contains("pg_try_advisory_lock")
                    && late.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                executed.release();
                arrives.acquire();
            }
            return result;
        });
    }

    private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
