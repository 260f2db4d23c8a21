package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Requests as the server counts them for one session. A client that is idle for 10 s pings, which counts as well. */
class ZooKeeperCountingTest {

    private static final int SESSION_MILLIS = 60_000;
    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend first;
    private static ZooKeeperLockBackend second;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        first = fixture.newBackend(SESSION_MILLIS);
        second = fixture.newBackend(SESSION_MILLIS);
        for (LockBackend backend : List.of(first, second)) {
            release(backend, acquire(backend, "warm"));
        }
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
        fixture.close();
    }

    @Test
    @DisplayName("A free lock costs two requests in one trip, its release one")
    void acquireAndRelease_free_twoAndOne() throws Exception {
        release(first, acquire(first, "free"));
        RequestCount count = new RequestCount(fixture, first);

        Grant grant = acquire(first, "free");
        count.assertRequests("requests of an acquisition", 2);

        release(first, grant);
        count.assertRequests("with the release", 3);
    }

    @Test
    @DisplayName("An uncontended lock costs one request after a while, its release one")
    void acquire_ownLast_one() throws Exception {
        release(first, acquire(first, "own"));
        fixture.keep("own");
        for (int i = 0; i < 100; i++) {
            release(first, acquire(first, "own"));
        }
        RequestCount count = new RequestCount(fixture, first);

        Grant grant = acquire(first, "own");
        count.assertRequests("requests of an acquisition", 1);

        assertThat(BackendDriver.of(second, "own").tryAcquire(0)).isInstanceOf(AcquireResult.Busy.class);
        release(first, grant);
    }

    @Test
    @DisplayName("The second request is sent before the first is answered")
    void acquire_repliesHeldBack_bothRequestsArrive() throws Exception {
        release(first, acquire(first, "piped"));
        RequestCount count = new RequestCount(fixture, first);
        fixture.proxies().get(0).hold(Direction.TO_CLIENT);
        CompletionStage<AcquireResult> attempt;
        try {
            attempt = BackendDriver.of(first, "piped").send(0);
            await().atMost(PATIENCE).until(() -> count.requests() >= 2);
            assertThat(attempt.toCompletableFuture()).isNotDone();
        } finally {
            fixture.proxies().get(0).pass();
        }
        count.assertRequests("requests", 2);
        release(first, ((AcquireResult.Granted) answer(attempt)).grant());
    }

    @Test
    @DisplayName("The first lock of a name costs two trips: the missing parent is noticed and created")
    void acquire_firstOfName_fallsBack() throws Exception {
        RequestCount count = new RequestCount(fixture, first);

        Grant grant = acquire(first, "first of its name");

        // create, list; two levels of the base path and the container; create, list
        count.assertRequests("requests", 7);
        release(first, grant);
    }

    @Test
    @DisplayName("A failed attempt without waiting costs three requests and leaves nothing")
    void tryLock_busy_threeRequests() throws Exception {
        Grant grant = acquire(first, "busy");
        RequestCount count = new RequestCount(fixture, second);

        assertThat(BackendDriver.of(second, "busy").tryAcquire(0)).isInstanceOf(AcquireResult.Busy.class);

        count.assertRequests("requests", 3);
        assertThat(fixture.entries("busy")).isEqualTo(1);
        release(first, grant);
    }

    @Test
    @DisplayName("The second in line takes over without a request if its session was confirmed recently")
    void handOff_secondInLine_noRequest() throws Exception {
        Grant grant = acquire(first, "hand-off");
        BackendDriver waiter = BackendDriver.of(second, "hand-off");
        RequestCount count = new RequestCount(fixture, second);
        AtomicInteger calls = new AtomicInteger();
        waiter.queueUp();
        second.subscribe(waiter.ticket(), calls::incrementAndGet);
        await().atMost(PATIENCE).until(() -> armed(waiter));
        count.assertRequests("create, list, two watches", 4);

        release(first, grant);
        await().atMost(PATIENCE).until(() -> calls.get() == 1);
        Grant next = waiter.acquire();

        count.assertRequests("nothing more for the hand-off", 4);
        assertThat(next.token()).isGreaterThan(grant.token());
        release(second, next);
    }

    @Test
    @DisplayName("The second in line takes over with one request if its session was not confirmed recently")
    void handOff_longWait_oneRequest() throws Exception {
        try (ZooKeeperLockBackend patient = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS)) {
            Grant grant = acquire(first, "long");
            BackendDriver waiter = BackendDriver.of(patient, "long");
            AtomicInteger calls = new AtomicInteger();
            waiter.queueUp();
            patient.subscribe(waiter.ticket(), calls::incrementAndGet);
            Session session = session(waiter);
            await().atMost(PATIENCE).until(() -> session.acknowledgedAgeMillis() > session.certainMillis() / 4);
            RequestCount count = new RequestCount(fixture, patient);

            release(first, grant);
            await().atMost(PATIENCE).until(() -> calls.get() == 1);
            Grant next = waiter.acquire();

            assertThat(count.requests()).as("one question, and pings").isPositive();
            assertThat(next.leaseMillis()).isEqualTo(session.certainMillis());
            release(patient, next);
        }
    }

    @Test
    @DisplayName("Of 200 waiters, a release wakes one")
    void release_manyWaiters_wakesOne() throws Exception {
        Grant grant = acquire(first, "crowd");
        List<BackendDriver> waiters = new ArrayList<>();
        List<AtomicInteger> calls = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            BackendDriver waiter = BackendDriver.of(i % 2 == 0 ? first : second, "crowd");
            AtomicInteger called = new AtomicInteger();
            waiter.queueUp();
            waiter.backend().subscribe(waiter.ticket(), called::incrementAndGet);
            waiters.add(waiter);
            calls.add(called);
        }
        await().atMost(PATIENCE).until(() -> waiters.stream().allMatch(ZooKeeperCountingTest::armed));

        for (int i = 0; i < 10; i++) {
            RequestCount count = new RequestCount(fixture, first, second);
            release(i == 0 ? first : waiters.get(i - 1).backend(), grant);
            int next = i;
            await().atMost(PATIENCE).until(() -> calls.get(next).get() == 1);
            grant = waiters.get(i).acquire();
            count.assertRequests(
                    "a deletion, and a listing by who was not the second in line when it came", i == 0 ? 1 : 2);
            assertThat(calls.stream().mapToInt(AtomicInteger::get).sum())
                    .as("calls so far")
                    .isEqualTo(i + 1);
        }
        for (BackendDriver waiter : waiters) {
            waiter.abandon();
        }
        assertThat(fixture.entries("crowd")).isZero();
    }

    @Test
    @DisplayName("A renewal of 150 grants costs one request, and one watch for each grant the first time")
    void renew_many_oneRequest() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            grants.add(acquire(first, "renewed " + i));
        }
        RequestCount count = new RequestCount(fixture, first);

        assertThat(answer(first.renew(grants, 10_000))).hasOnlyElementsOfType(RenewResult.Renewed.class);
        await().atMost(PATIENCE).until(() -> count.requests() >= 151);
        for (int i = 0; i < 5; i++) {
            assertThat(answer(first.renew(grants, 10_000))).hasOnlyElementsOfType(RenewResult.Renewed.class);
        }

        count.assertRequests("requests", 156);
        grants.forEach(grant -> release(first, grant));
    }

    private static boolean armed(BackendDriver waiter) {
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) waiter.ticket();
        return session(waiter).watches().isArmed(node.lockNode.path())
                && session(waiter).watches().isArmed(node.predecessor.path());
    }

    private static Session session(BackendDriver waiter) {
        return ((ZooKeeperAcquisition) waiter.ticket()).lockNode.session();
    }
}
