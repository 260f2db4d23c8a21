package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often a lease's renewal is sent without an answer, and the effect of each answer: without a server. */
final class KeepAliveTest {
    private static final String SENT = "keepAliveOnce";
    private static final long MINUTES = 600_000;

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final ScriptedEtcd asked = new ScriptedEtcd();
    private final EtcdCalls calls = asked.calls();
    private final SharedLease old = TestAcquisitions.lease(7, 60, Duration.ofSeconds(20));

    @AfterEach
    void close() {
        etcd.close();
        asked.close();
    }

    private List<Boolean> streamsEnded() {
        return asked.requests.stream()
                .map(request -> request.context().isCancelled())
                .toList();
    }

    /** As when the connection is refused: a failure plans the next one, and so did the sending. Only one of them sends. */
    @Test
    void everyOneFailsAtOnce_eachIsFollowedByOne() {
        SharedLease lease = new SharedLease(7, 60, LeaseRequestTime.now(), 0);
        CompletableFuture<Void> renewal = KeepAlive.send(etcd.calls(), lease, 600_000);
        int rounds = 20;

        for (int i = 0; i < rounds; i++) {
            etcd.runPlanned();
        }

        assertThat(renewal).isNotDone();
        assertThat(etcd.requests.get()).as("renewals sent").isEqualTo(1 + rounds);
        assertThat(etcd.planned()).isLessThanOrEqualTo(3);
    }

    /** A sixth of the lease, so that there are several tries before its end, but at most the remaining time. */
    @ParameterizedTest
    @CsvSource({"1, 600000, 200", "3, 600000, 500", "6, 600000, 1000", "600, 600000, 1000", "600, 400, 400"})
    void noAnswer_isSentAgain_afterASixthOfTheLease(long ttlSeconds, long timeoutMillis, long patienceMillis) {
        SharedLease lease = TestAcquisitions.lease(7, ttlSeconds, Duration.ZERO);
        long startNanos = System.nanoTime();

        KeepAlive.send(calls, lease, timeoutMillis);

        long leastMillis = Math.max(1, patienceMillis - ScriptedEtcd.millisSince(startNanos));
        assertThat(asked.delays())
                .singleElement()
                .satisfies(delay -> assertThat(delay).isBetween(leastMillis, patienceMillis + 1));
        asked.pass();
        boolean inTime = ScriptedEtcd.millisSince(startNanos) < timeoutMillis; // else nothing more is sent
        assertThat(asked.requests).hasSizeBetween(inTime ? 2 : 1, 2).allSatisfy(request -> {
            assertThat(request.method()).isEqualTo(SENT);
            assertThat(request.lease()).isEqualTo(7);
        });
    }

    /** It counts from its own sending: until then, and so much later, no server has ended the lease. */
    @Test
    void firstAcknowledgement_confirmsFromItsSending_andEndsAllStreams() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, old, MINUTES);
        asked.pass();
        ScriptedEtcd.Request second = asked.requests.get(1);
        ScriptedEtcd.spend(5);
        assertThat(streamsEnded()).containsExactly(false, false);

        second.answers(ScriptedEtcd.kept(4));
        asked.settle();

        assertThat(renewal).isCompleted();
        assertThat(old.ageNanos(System.nanoTime()))
                .isBetween(
                        TimeUnit.MILLISECONDS.toNanos(5), Duration.ofSeconds(19).toNanos());
        assertThat(calls.latestTerm()).isEqualTo(4);
        assertThat(streamsEnded()).containsExactly(true, true);
        asked.pass();
        assertThat(asked.requests).as("none after the end").hasSize(2);
    }

    @Test
    void leaseThatEtcdDoesNotKnow_failsAtOnce() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, old, MINUTES);
        asked.pass();

        asked.next(SENT).fails(Status.NOT_FOUND);
        asked.settle();

        assertThat(EtcdFailures.isLeaseGone(ScriptedEtcd.failure(renewal))).isTrue();
        assertThat(streamsEnded()).containsExactly(true, true);
        asked.pass();
        assertThat(asked.requests).hasSize(2);
    }

    /** The other one may be answered in a moment. */
    @Test
    void failure_isFollowedSoon_onlyIfNoOtherIsUnderWay() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, old, MINUTES);
        asked.pass();
        assertThat(asked.delays()).containsExactly(1_000L);

        asked.requests.get(0).fails(Status.UNAVAILABLE);
        asked.settle();
        assertThat(asked.delays()).containsExactly(1_000L);

        asked.requests.get(1).fails(Status.UNAVAILABLE);
        asked.settle();
        assertThat(asked.delays()).containsExactly(1_000L, 100L);
        assertThat(renewal).isNotDone();
        assertThat(old.ageNanos(System.nanoTime()))
                .isGreaterThanOrEqualTo(Duration.ofSeconds(20).toNanos());
    }

    @Test
    void timeIsOver_failsAsTheLastOneDid_andSendsNoMore() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, old, 20);
        asked.next(SENT).fails(Status.UNAVAILABLE.withDescription("by the test"));
        asked.settle();
        ScriptedEtcd.spend(20);

        asked.pass();

        assertThat(ScriptedEtcd.failure(renewal)).hasMessageContaining("by the test");
        assertThat(asked.requests).hasSize(1);
        assertThat(asked.planned).isEmpty();
    }

    @Test
    void timeIsOver_withoutAnyAnswer_namesTheLease() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, TestAcquisitions.lease(0x1f), 0);

        assertThat(ScriptedEtcd.failure(renewal))
                .isInstanceOf(TimeoutException.class)
                .hasMessage("etcd lease 1f was not renewed in time");
        assertThat(asked.requests).isEmpty();
    }

    /** Its answers come on jetcd's threads, which have to go on. */
    @Test
    void clientIsClosed_whileRenewalsFail_sendsNoMore() {
        KeepAlive.send(calls, old, MINUTES);
        asked.pass();
        asked.executor.shutdownNow();

        asked.requests.get(0).fails(Status.UNAVAILABLE);
        asked.requests.get(1).fails(Status.UNAVAILABLE);
        asked.settle();

        assertThat(asked.requests).hasSize(2);
    }

    /** A thread that must end, like the executor's at the end of the client. */
    @Test
    void threadIsInterrupted_whileRenewalsFail_renewalGoesOn() {
        CompletableFuture<Void> renewal = KeepAlive.send(calls, old, MINUTES);
        Thread.currentThread().interrupt();
        try {
            asked.next(SENT).fails(Status.UNAVAILABLE);
            asked.pass();
            asked.next(SENT).answers(ScriptedEtcd.kept(0));
            asked.settle();
        } finally {
            assertThat(Thread.interrupted()).as("is left to the thread").isTrue();
        }
        assertThat(renewal).isCompleted();
    }
}
