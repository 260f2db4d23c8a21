package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** No grant is longer than the session surely lives on. */
class ZooKeeperCertaintyTest {
    private static final int SESSION_MILLIS = 6_000;
    private static final long CERTAIN_MILLIS = 4_000;

    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend first;
    private static ZooKeeperLockBackend second;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        first = fixture.newBackend(SESSION_MILLIS);
        second = fixture.newBackend(SESSION_MILLIS);
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
        fixture.close();
    }

    @Test
    void grant_ofALongerLease_isTwoThirdsOfTheSession() {
        Grant grant = acquire(first, "long");
        assertThat(grant.leaseMillis()).isEqualTo(CERTAIN_MILLIS);
        release(first, grant);
    }

    /** It is granted without a new write, so its session is certain only from the write that queued it. */
    @Test
    void grant_byAListing_isShorterByTheAgeOfItsWrite() {
        Grant held = acquire(second, "listed");
        BackendDriver waiter = BackendDriver.of(first, "listed");
        waiter.queueUp();
        long afterWriteNanos = System.nanoTime();
        release(second, held);
        await().pollInterval(Duration.ofMillis(5)).until(() -> ageMillis(afterWriteNanos) >= CERTAIN_MILLIS / 6);

        long leastAge = ageMillis(afterWriteNanos);
        AcquireResult answer = waiter.tryAcquire(BackendDriver.WAIT_MILLIS);

        assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
        assertThat(((AcquireResult.Granted) answer).grant().leaseMillis())
                .isLessThanOrEqualTo(CERTAIN_MILLIS - leastAge);
    }

    private static long ageMillis(long sinceNanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
    }
}
