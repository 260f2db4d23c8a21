package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** No grant is longer than its session is certain to live. */
class ZooKeeperCertaintyTest {
    private static final int SESSION_MILLIS = 6_000;
    private static final long CERTAIN_MILLIS = 4_000;

    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend first;
    private static ZooKeeperLockBackend second;
    private static ZooKeeperLockBackend patient;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        first = fixture.newBackend(SESSION_MILLIS);
        second = fixture.newBackend(SESSION_MILLIS);
        patient = fixture.newBackend(60_000);
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
        patient.close();
        fixture.close();
    }

    @Test
    void grant_ofALongerLease_isTwoThirdsOfTheSession() {
        Grant grant = acquire(first, "long");
        assertThat(grant.leaseMillis()).isEqualTo(CERTAIN_MILLIS);
        release(first, grant);
    }

    @Test
    void renewal_ofALongerLease_isTwoThirdsOfTheSession() {
        Grant grant = acquire(first, "renewed");
        assertThat(renew(first, grant)).isEqualTo(new RenewResult.Renewed(CERTAIN_MILLIS));
        release(first, grant);
    }

    /** The grant needs no new write, so its session is certain only from the write that queued it. */
    @Test
    void grant_byAListing_isShorterByTheAgeOfItsWrite() {
        Grant held = acquire(second, "listed");
        BackendDriver waiter = BackendDriver.of(patient, "listed");
        waiter.queueUp();
        long afterWriteNanos = System.nanoTime();
        release(second, held);

        assertIsShorterByTheAge(waiter, afterWriteNanos);
    }

    /** The certain time was shorter at the grant, and is complete again after the next write. */
    @Test
    void renewal_ofAGrantThatWasShorter_isTwoThirdsOfTheSession() {
        Grant held = acquire(second, "shorter");
        BackendDriver waiter = BackendDriver.of(patient, "shorter");
        waiter.queueUp();
        release(second, held);
        long certainMillis = patient.session().certainMillis();
        AcquireResult answer = waiter.tryAcquire(BackendDriver.WAIT_MILLIS);
        assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
        Grant grant = ((AcquireResult.Granted) answer).grant();
        assertThat(grant.leaseMillis()).isLessThan(certainMillis);

        assertThat(renew(patient, grant)).isEqualTo(new RenewResult.Renewed(certainMillis));
        release(patient, grant);
    }

    /** The same if the grant follows from the deletion of the holder's node. */
    @Test
    void grant_byAHandOff_isShorterByTheAgeOfTheLastWrite() {
        Grant held = acquire(second, "handed off");
        BackendDriver waiter = BackendDriver.of(patient, "handed off");
        waiter.queueUp();
        long afterWriteNanos = System.nanoTime();
        AtomicInteger calls = new AtomicInteger();
        Subscription subscription = patient.subscribe(waiter.ticket(), calls::incrementAndGet);
        release(second, held);
        await().atMost(PATIENCE).until(() -> calls.get() > 0);

        assertIsShorterByTheAge(waiter, afterWriteNanos);
        subscription.close();
    }

    /**
     * After that age, the client would confirm its session by a write: with a session of a minute, not before ten
     * seconds.
     */
    private static void assertIsShorterByTheAge(BackendDriver waiter, long afterWriteNanos) {
        long certainMillis = patient.session().certainMillis();
        await().pollInterval(Duration.ofMillis(5)).until(() -> ageMillis(afterWriteNanos) >= 100);

        long leastAge = ageMillis(afterWriteNanos);
        AcquireResult answer = waiter.tryAcquire(BackendDriver.WAIT_MILLIS);

        assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
        assertThat(((AcquireResult.Granted) answer).grant().leaseMillis())
                .isLessThanOrEqualTo(certainMillis - leastAge);
        release(patient, ((AcquireResult.Granted) answer).grant());
    }

    /** Its predecessor is gone, and so is its own node, which it has not noticed because the node is not watched. */
    @Test
    void handOff_ownNodeIsGoneUnwatched_isNotGrantedOnIt() throws Exception {
        Grant held = acquire(second, "own node gone");
        BackendDriver waiter = BackendDriver.of(patient, "own node gone");
        waiter.queueUp();
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) waiter.ticket();
        fixture.administrator().delete(node.lockNode.path(), -1);
        release(second, held);
        node.gone = node.predecessor; // as its watch reports
        Grant rival = acquire(second, "own node gone");

        waiter.assertBusy();

        assertThat(renew(second, rival)).isInstanceOf(RenewResult.Renewed.class);
        release(second, rival);
    }

    private static long ageMillis(long sinceNanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
    }
}
