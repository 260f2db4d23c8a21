package dev.holdfast.lock.consul.internal.session;

import static dev.holdfast.lock.consul.ScriptedConsul.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.ScriptedConsul;
import dev.holdfast.lock.consul.internal.http.ConsulException;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a session is shared, replaced and removed, and when a new epoch starts. */
final class SessionPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final ScriptedConsul consul = new ScriptedConsul();
    private final CountDownLatch goOn = new CountDownLatch(1);
    private volatile String kept = "nothing";
    private FakeAgent agent;
    private ConsulHttp http;
    private SessionPool sessions;

    @BeforeEach
    void open() throws Exception {
        agent = new FakeAgent((path, body) -> {
            String answer = consul.to(path, body);
            if (path.contains(kept)) {
                goOn.await();
            }
            return answer;
        });
        http = new ConsulHttp(agent.connection());
        sessions = new SessionPool(http, ConsulFixture.KEYS, null);
    }

    @AfterEach
    void close() throws Exception {
        goOn.countDown();
        http.close();
        agent.close();
    }

    private static Deadline soon() {
        return Deadline.in(PATIENCE.toMillis());
    }

    private CompletableFuture<ConsulSession> ask(long leaseMillis) {
        return sessions.usable(leaseMillis, BackendDriver.IDENTITY, soon());
    }

    private ConsulSession usable(long leaseMillis) {
        return BackendDriver.answer(ask(leaseMillis));
    }

    @Test
    void session_isOneForEachLease_alsoWhileItIsBeingMade() throws Exception {
        kept = "create";
        CompletableFuture<ConsulSession> one = ask(30_000);
        CompletableFuture<ConsulSession> two = ask(30_000);
        two.cancel(false); // cancels only this caller
        CompletableFuture<ConsulSession> three = ask(30_000);
        goOn.countDown();
        ConsulSession session = one.get(1, TimeUnit.MINUTES);
        assertThat(three.get(1, TimeUnit.MINUTES)).isSameAs(session);
        assertThat(usable(30_000)).isSameAs(session);
        assertThat(session.ttlMillis()).isEqualTo(30_000);
        assertThat(sessions.find(session.id())).isSameAs(session);

        assertThat(usable(31_000)).isNotSameAs(session);
        ConsulSession longest = usable(Duration.ofDays(3).toMillis());
        assertThat(longest.ttlMillis()).isEqualTo(Duration.ofHours(24).toMillis());
        assertThat(usable(Duration.ofHours(24).toMillis())).isSameAs(longest);
        assertThat(consul.kinds()).containsExactly("create", "create", "create");
    }

    @Test
    void session_thatCouldNotBeMade_isMadeForTheNext() {
        consul.instead("create", "500 rpc error");
        assertThatThrownBy(() -> ask(30_000).get(1, TimeUnit.MINUTES)).hasRootCauseMessage("rpc error");
        assertThat(usable(30_000).id()).isEqualTo("s-1");
        consul.instead("create", "404 no");
        assertThatThrownBy(() -> ask(31_000).get(1, TimeUnit.MINUTES)).hasRootCauseMessage("no");
    }

    @Test
    void session_thatIsOver_isReplaced_andForgottenWhenItHasGone() {
        ConsulSession alive = usable(30_000);
        ConsulSession ended = usable(31_000);
        sessions.ended(ended);
        assertThat(ended.hasEnded()).isTrue();
        assertThat(sessions.find(ended.id())).isNull();
        assertThat(usable(31_000)).isNotSameAs(ended);

        ConsulSession expired = usable(1);
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < TimeUnit.MILLISECONDS.toNanos(6)) {
            LockSupport.parkNanos(1_000_000);
        }
        assertThat(usable(1)).isNotSameAs(expired);
        assertThat(sessions.find(expired.id())).isNull();
        assertThat(sessions.find(alive.id())).isSameAs(alive);
    }

    @Test
    void renewal_isTrue_orNotFound_orAFailure() {
        ConsulSession session = usable(30_000);
        assertThat(BackendDriver.answer(sessions.renew(session, soon()))).isTrue();
        consul.instead("renew", "404 Session id not found", "500 rpc error");
        assertThat(BackendDriver.answer(sessions.renew(session, soon()))).isFalse();
        assertThatThrownBy(() -> sessions.renew(session, soon()).get(1, TimeUnit.MINUTES))
                .hasRootCauseMessage("rpc error");
        assertThat(sessions.find(session.id()))
                .as("which a transaction has to confirm")
                .isSameAs(session);
    }

    @Test
    void epoch_thatIsBeingMade_isForAllWhoAsk_andOneThatFailedForNone() throws Exception {
        ConsulSession session = usable(30_000);
        kept = "txn";
        CompletableFuture<Boolean> one = sessions.newEpoch(session, soon());
        CompletableFuture<Boolean> two = sessions.newEpoch(session, soon());
        two.cancel(false); // cancels only this caller
        CompletableFuture<Boolean> three = sessions.newEpoch(session, soon());
        goOn.countDown();
        assertThat(one.get(1, TimeUnit.MINUTES)).isTrue();
        assertThat(three.get(1, TimeUnit.MINUTES)).isTrue();
        assertThat(consul.kinds()).containsExactly("create", "epoch");
        assertThat(session.epoch()).isEqualTo(101);

        consul.instead("epoch", "500 rpc error", refused(0, "failed to lock key \"x\", lock is already held"));
        assertThatThrownBy(() -> sessions.newEpoch(session, soon()).get(1, TimeUnit.MINUTES))
                .hasRootCauseMessage("rpc error");
        assertThatThrownBy(() -> sessions.newEpoch(session, soon()).get(1, TimeUnit.MINUTES))
                .isInstanceOf(ExecutionException.class)
                .hasRootCauseInstanceOf(ConsulException.class)
                .hasRootCauseMessage("[failed to lock key \"x\", lock is already held]");
        assertThat(session.epoch()).isEqualTo(101);
        assertThat(session.hasEnded()).isFalse();
        assertThat(BackendDriver.answer(sessions.newEpoch(session, soon()))).isTrue();
        assertThat(session.epoch()).isEqualTo(102);

        consul.instead("epoch", refused(0, "invalid session \"s-1\""));
        assertThat(BackendDriver.answer(sessions.newEpoch(session, soon()))).isFalse();
        assertThat(session.hasEnded()).isTrue();
        assertThat(sessions.find(session.id())).isNull();
    }

    @Test
    void epoch_ofWhichTheAnswerSaysNothing_fails() {
        ConsulSession session = usable(30_000);
        consul.instead("epoch", "200 {\"Results\":[]}");
        assertThatThrownBy(() -> sessions.newEpoch(session, soon()).get(1, TimeUnit.MINUTES))
                .isInstanceOf(ExecutionException.class)
                .hasRootCauseInstanceOf(IllegalStateException.class);
        assertThat(BackendDriver.answer(sessions.newEpoch(session, soon()))).isTrue();
    }

    /** Consul does not count a write that changes nothing, so each value is new. */
    @Test
    void epoch_isAKeyOfTheSession_withAValueThatWasNeverThere() {
        ConsulSession session = usable(30_000);
        consul.asked();
        BackendDriver.answer(sessions.newEpoch(session, soon()));
        BackendDriver.answer(sessions.newEpoch(session, soon()));
        assertThat(consul.asked())
                .hasSize(2)
                .doesNotHaveDuplicates()
                .allSatisfy(each -> assertThat(each)
                        .matches("epoch /v1/txn \\[\\{\"KV\":\\{\"Verb\":\"lock\",\"Key\":\"test/~s-1\","
                                + "\"Session\":\"s-1\",\"Value\":\"[^\"]{44}\"}}]"));
        assertThat(sessions.attempt(session, ConsulSession.NO_EPOCH).body())
                .isEqualTo("[{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"test/~s-1\"}}]");
        assertThat(sessions.attempt(session, 7).body())
                .isEqualTo("[{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"test/~s-1\",\"Index\":7}}]");
    }

    @Test
    void time_isCountedFromTheLatestRequestThatWasConfirmed() {
        long start = Long.MAX_VALUE - 1; // the clock may pass its end
        ConsulSession session = new ConsulSession("x", 1_000, start);
        assertThat(session.leftMillis(start)).isEqualTo(1_000);
        assertThat(session.leftMillis(start + 1)).as("rounded down").isEqualTo(999);
        assertThat(session.leftMillis(start + 1_000_000)).isEqualTo(999);
        assertThat(session.leftMillis(start - 5_000_000)).as("asked before").isEqualTo(1_000);
        assertThat(session.leftMillis(start + 3_000_000_000L)).isEqualTo(-2_000);
        session.confirmed(start + 2_000_000_000L);
        session.confirmed(start + 1_000_000_000L); // answered later
        assertThat(session.leftMillis(start + 3_000_000_000L)).isZero();
        session.raiseEpoch(5);
        session.raiseEpoch(3);
        assertThat(session.epoch()).isEqualTo(5);
        assertThat(session).hasToString("session x");
        assertThat(session.hasEnded()).isFalse();
    }

    @Test
    void deadline_isOneTime_forRequestsThatGoFirstOrNot() {
        Deadline far = Deadline.in(60_000);
        assertThat(far.priority()).isEqualTo(Deadline.Priority.NORMAL);
        assertThat(far.goingFirst()).isEqualTo(new Deadline(far.nanos(), Deadline.Priority.FIRST));
        assertThat(far.leftMillis()).isBetween(1_000L, 60_000L);
        assertThat(far.hasPassed()).isFalse();
        Deadline passed = Deadline.in(-10);
        assertThat(passed.leftMillis()).as("a late request has a time-out, too").isEqualTo(1);
        assertThat(passed.hasPassed()).isTrue();
        assertThat(Deadline.in(0).hasPassed()).isTrue();
    }

    /** As without memory: a session that cannot even be asked for is not waited for by those who come later. */
    @Test
    void session_thatCannotBeAskedFor_isFollowedByAnother() {
        assertThat(sessions.usable(30_000, null, soon())).isCompletedExceptionally();
        assertThat(usable(30_000).hasEnded()).isFalse();
    }

    @Test
    void epoch_thatCannotBeAskedFor_isFollowedByAnother() {
        ConsulSession session = usable(30_000);
        assertThat(sessions.newEpoch(session, null)).isCompletedExceptionally();
        assertThat(BackendDriver.answer(sessions.newEpoch(session, soon()))).isTrue();
    }
}
