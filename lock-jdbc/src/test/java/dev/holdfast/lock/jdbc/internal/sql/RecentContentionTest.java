package dev.holdfast.lock.jdbc.internal.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What was found busy is known for longer than polls are apart, whatever the clock's origin. */
final class RecentContentionTest {
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1_000);

    @ParameterizedTest
    @ValueSource(longs = {0, Long.MIN_VALUE, -1, Long.MAX_VALUE - 1_000})
    void name_isKnownUntilAWhileAfterItWasAdded(long origin) {
        AtomicLong nanos = new AtomicLong(origin);
        RecentContention busy = new RecentContention(nanos::get);
        assertThat(busy.contains("a")).isFalse();

        busy.add("a");
        nanos.addAndGet(POLL_NANOS);
        assertThat(busy.contains("a")).as("at the next poll").isTrue();
        assertThat(busy.contains("b")).isFalse();

        busy.add("a");
        nanos.addAndGet(POLL_NANOS);
        assertThat(busy.contains("a")).as("at the poll after that").isTrue();
        nanos.addAndGet(POLL_NANOS);
        assertThat(busy.contains("a")).as("later").isFalse();
    }
}
