package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What opens too late is closed, by one or the other. */
final class OwnPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final class Opened implements AutoCloseable {
        volatile boolean begun;
        final AtomicBoolean closed = new AtomicBoolean();

        @Override
        public void close() {
            closed.set(true);
        }
    }

    @Test
    void opensAfterItsCallerHasLeft_isClosed() {
        CountDownLatch left = new CountDownLatch(1);
        Opened late = new Opened();
        assertThatThrownBy(() -> OwnPool.inTime(100, () -> {
                    late.begun = true;
                    awaitUninterruptibly(left);
                    return late;
                }))
                .isInstanceOf(SQLException.class);
        left.countDown();
        await().atMost(PATIENCE).until(() -> late.closed.get() || !late.begun);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) throws SQLException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new SQLException(e);
        }
    }

    /** In the moment in which its caller leaves, as near to it as can be. */
    @Test
    void opensAboutWhenItsCallerLeaves_isReturnedOrClosed() {
        List<Opened> late = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            long untilNanos = System.nanoTime()
                    + TimeUnit.MICROSECONDS.toNanos(
                            1_000 + ThreadLocalRandom.current().nextLong(200));
            Opened opened = new Opened();
            try {
                Opened returned = OwnPool.inTime(1, () -> {
                    opened.begun = true;
                    while (System.nanoTime() - untilNanos < 0) {
                        Thread.onSpinWait();
                    }
                    return opened;
                });
                assertThat(returned.closed).isFalse();
            } catch (SQLException e) {
                late.add(opened);
            }
        }
        assertThat(late).isNotEmpty();
        await().atMost(PATIENCE).until(() -> late.stream().allMatch(each -> each.closed.get() || !each.begun));
    }

    /** An in-memory database lives as long as a connection to it, so the one that is kept must not be replaced after a while. */
    @Test
    void ofAnEmbeddedDatabase_connectionsDoNotRetire() {
        try (OwnPool pool = OwnPool.open(new JdbcUri("jdbc:h2:mem:kept"), 3_000)) {
            assertThat(pool.dataSource().getMaxLifetime()).isZero();
            assertThat(pool.dataSource().getMinimumIdle()).isEqualTo(1);
        }
    }
}
