package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.redis.Attempts.busy;
import static dev.holdfast.lock.redis.Attempts.grant;
import static dev.holdfast.lock.redis.Attempts.tryAcquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.internal.script.TwoBackends;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The backend by itself: waiters, their queue and how they are called. */
final class RedisWaitersTest extends TwoBackends {
    @Test
    void release_callsTheFirstWaiterOnly() throws Exception {
        withoutPause(this::releaseCallsTheFirstWaiterOnly);
        assertThat(fixture.entries(name)).isZero();
    }

    private void releaseCallsTheFirstWaiterOnly() throws Exception {
        Grant grant = grant(a, acquisition());
        CountDownLatch first = new CountDownLatch(1);
        AtomicInteger second = new AtomicInteger();
        AcquisitionId one = acquisition();
        AcquisitionId two = acquisition();
        Ticket ticketOne = busy(a, one, 60_000, false, null).ticket();
        Ticket ticketTwo = busy(b, two, 60_000, false, null).ticket();
        awaitSubscribed(2);
        awaken(a, one, ticketOne);
        awaken(b, two, ticketTwo);
        try (var x = a.subscribe(ticketOne, first::countDown);
                var y = b.subscribe(ticketTwo, second::incrementAndGet)) {
            // Both have been called by the new subscriptions at most; from now on only releases call.
            int before = second.get();
            release(a, grant);
            assertThat(first.await(60, TimeUnit.SECONDS)).isTrue();
            Grant next = ((AcquireResult.Granted) tryAcquire(a, one, 60_000, false, ticketOne)).grant();
            assertThat(second.get()).isEqualTo(before);
            release(a, next);
            await().atMost(PATIENCE).until(() -> second.get() == before + 1);
            release(b, ((AcquireResult.Granted) tryAcquire(b, two, 60_000, false, ticketTwo)).grant());
        }
    }

    @Test
    void fair_nobodyPassesALiveWaiter() throws Exception {
        withoutPause(() -> {
            Grant grant = grant(a, acquisition());
            AcquisitionId one = acquisition();
            Ticket ticket = busy(a, one, 60_000, true, null).ticket();
            AcquisitionId two = acquisition();
            busy(b, two, 60_000, true, null);
            release(a, grant);
            busy(b, two, 60_000, true, null);
            busy(b, acquisition(), 0, true, null);
            Grant first = ((AcquireResult.Granted) tryAcquire(a, one, 60_000, true, ticket)).grant();
            release(a, first);
            assertThat(tryAcquire(b, two, 60_000, true, null)).isInstanceOf(AcquireResult.Granted.class);
        });
    }

    /** Its place is its arrival, which its ticket has: the server may have lost the queue. */
    @Test
    void fair_entryLost_keepsItsPlaceByItsTicket() throws Exception {
        withoutPause(() -> {
            Grant grant = grant(a, acquisition());
            AcquisitionId one = acquisition();
            AcquisitionId two = acquisition();
            Ticket first = busy(a, one, 60_000, true, null).ticket();
            Ticket second = busy(b, two, 60_000, true, null).ticket();
            fixture.server().command("ZREM", keys().queue(), one.owner().toString());
            fixture.server().command("HDEL", keys().waiters(), one.owner().toString());
            busy(a, one, 60_000, true, first);
            release(a, grant);
            assertThat(tryAcquire(b, two, 60_000, true, second)).isInstanceOf(AcquireResult.Busy.class);
            release(a, ((AcquireResult.Granted) tryAcquire(a, one, 60_000, true, first)).grant());
            release(b, ((AcquireResult.Granted) tryAcquire(b, two, 60_000, true, second)).grant());
        });
    }

    @Test
    void deadWaiter_delaysTheNextByLessThanASecond() throws Exception {
        withoutPause(() -> {
            Grant grant = grant(a, acquisition());
            busy(a, acquisition(), 60_000, true, null);
            AcquisitionId two = acquisition();
            busy(b, two, 60_000, true, null);
            release(a, grant);
            AcquireResult.Busy behind = busy(b, two, 60_000, true, null);
            assertThat(behind.remainingMillis()).isBetween(1L, 700L);
            await().atMost(PATIENCE)
                    .until(() -> tryAcquire(b, two, 60_000, true, null) instanceof AcquireResult.Granted);
        });
    }

    @Test
    void notFair_newcomerPassesAFreshWaiterButNotAnOldOne() throws Exception {
        withoutPause(() -> {
            Grant grant = grant(a, acquisition());
            AcquisitionId waiting = acquisition();
            busy(a, waiting, 60_000, false, null);
            long longAgo = grant.token() - 200_000; // µs
            fixture.server()
                    .command(
                            "ZADD",
                            keys().queue(),
                            Long.toString(longAgo),
                            waiting.owner().toString());
            release(a, grant);
            busy(b, acquisition(), 60_000, false, null);
            Grant tried = ((AcquireResult.Granted) tryAcquire(b, acquisition(), 0, false, null)).grant();
            release(b, tried);
        });
    }

    @Test
    void fairWaiter_isNotPassed_afterOneThatIsNotFairHasQueuedBehindIt() throws Exception {
        withoutPause(() -> {
            Grant grant = grant(a, acquisition());
            AcquisitionId fair = acquisition();
            Ticket ticket = busy(a, fair, 60_000, true, null).ticket();
            busy(b, acquisition(), 60_000, false, null);
            release(a, grant);
            busy(b, acquisition(), 0, false, null);
            release(a, ((AcquireResult.Granted) tryAcquire(a, fair, 60_000, true, ticket)).grant());
        });
    }

    /** A waiter that was called has 700 ms to come. */
    private void withoutPause(Steps steps) throws Exception {
        withoutPause(Duration.ofMillis(500), 10, steps);
    }

    /** A waiter shows that it lives, as waiters do each second. */
    private static void awaken(LockBackend backend, AcquisitionId waiting, Ticket ticket) throws Exception {
        busy(backend, waiting, 60_000, false, ticket);
    }

    @Test
    void abandon_endsGrantAndPlaceAndCallsTheNext() throws Exception {
        AcquisitionId mine = acquisition();
        grant(a, mine);
        AcquisitionId one = acquisition();
        busy(a, one, 60_000, false, null);
        AcquisitionId two = acquisition();
        CountDownLatch called = new CountDownLatch(1);
        Ticket ticket = busy(b, two, 60_000, false, null).ticket();
        awaitSubscribed(2);
        awaken(b, two, ticket);
        try (var x = b.subscribe(ticket, called::countDown)) {
            answer(a.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
            answer(a.abandon(one, BackendDriver.TIMEOUT_MILLIS));
            assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
        }
        answer(b.abandon(two, BackendDriver.TIMEOUT_MILLIS));
        assertThat(fixture.entries(name)).isZero();
    }

    @Test
    void signal_afterTheCall_isDeliveredAllTheSame() throws Exception {
        Grant grant = grant(a, acquisition());
        AcquisitionId one = acquisition();
        Ticket ticket = busy(b, one, 60_000, false, null).ticket();
        awaitSubscribed(1);
        awaken(b, one, ticket);
        release(a, grant);
        CountDownLatch called = new CountDownLatch(1);
        try (var x = b.subscribe(ticket, called::countDown)) {
            assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void killedSubscription_rechecksEveryWaiter() throws Exception {
        Grant grant = grant(a, acquisition());
        AcquisitionId one = acquisition();
        Ticket ticket = busy(b, one, 60_000, false, null).ticket();
        awaitSubscribed(1);
        AtomicInteger calls = new AtomicInteger();
        try (var x = b.subscribe(ticket, calls::incrementAndGet)) {
            await().atMost(PATIENCE).until(() -> calls.get() >= 1); // by the new subscription
            int before = calls.get();
            fixture.server().command("CLIENT", "KILL", "TYPE", "pubsub");
            release(a, grant);
            await().atMost(PATIENCE).until(() -> calls.get() > before);
        }
    }

    private void awaitSubscribed(int processes) {
        await().atMost(PATIENCE)
                .until(() -> fixture.list("PUBSUB", "CHANNELS", "holdfast:c:*").size() == processes);
    }
}
