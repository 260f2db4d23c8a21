package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.backend.AcquireSender;
import dev.holdfast.lock.redis.internal.backend.RedisAttempt;
import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.backend.RedisSettings;
import dev.holdfast.lock.redis.internal.backend.RedisTicket;
import dev.holdfast.lock.redis.internal.backend.ReplicaAcknowledgement;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisSignals;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.connection.StubFactory;
import dev.holdfast.lock.redis.internal.connection.StubScripts;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.FailureTranslator;
import io.lettuce.core.RedisException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which script each request is, with which keys and arguments, and what its answer means: without a server. */
final class RedisRequestsTest {
    private static final long TIMEOUT_MILLIS = 60_000;
    private static final RedisKeys KEYS = RedisKeys.of("shop", "n");
    private static final Object[] ALL = KEYS.all();
    private static final Object[] WITH_LIMIT = KEYS.withLimit();

    private final StubScripts server = new StubScripts();
    private final RedisCalls calls = new RedisCalls(StubFactory.linking(server::link));
    private final RedisWaiters waiters = new RedisWaiters();

    /** What was said to those around it, in its order. */
    private final List<String> said = new ArrayList<>();

    private final List<Long> generations = new ArrayList<>();
    private final AcquisitionId acquisition = new AcquisitionId("n", OwnerId.random());
    private final AcquisitionId share = new AcquisitionId("n", OwnerId.random(), Demand.SHARED);
    private final String owner = acquisition.owner().toString();
    private final RedisLockBackend backend = backend(true, null);

    private RedisLockBackend backend(boolean queues, @Nullable ReplicaAcknowledgement replicas) {
        return new RedisLockBackend(
                new RedisSettings("shop", 300_000, queues, false, 70, 900, replicas),
                false,
                calls,
                new AcquireSender() {
                    @Override
                    public CompletableFuture<List<Object>> tryAcquire(RedisAttempt attempt, long timeoutMillis) {
                        generations.add(attempt.generation());
                        return CompletableFuture.completedFuture(List.of(1L, 77L, 0L, 0L));
                    }

                    @Override
                    public void ended(String who) {
                        said.add("ended " + who);
                    }

                    @Override
                    public void takenBack(String who, long generation) {
                        said.add("taken back " + who + " " + generation);
                    }

                    @Override
                    public void close() {
                        said.add("sender closed");
                    }
                },
                waiters,
                queues ? new Channels() : RedisSignals.NONE,
                () -> said.add("closed"));
    }

    private final class Channels implements RedisSignals {
        @Override
        public boolean queues() {
            return true;
        }

        @Override
        public String mode(RedisKeys keys) {
            return "P";
        }

        @Override
        public String inbox() {
            return "a1";
        }

        @Override
        public void wanted(String who, RedisKeys keys) {}

        @Override
        public void unwanted(String who) {
            said.add("unwanted " + who);
        }

        @Override
        public void close() {
            said.add("signals closed");
        }
    }

    private void assertSent(RedisScript script, Object[] keys, Object... args) {
        assertThat(server.last().script()).isEqualTo(script.digest());
        assertThat(server.last().keys()).containsExactly(keys);
        assertThat(server.last().args()).containsExactly(args);
    }

    private <T> T answered(CompletionStage<T> stage, Object... reply) {
        assertThat(stage.toCompletableFuture()).isNotDone();
        server.last().answer().complete(List.of(reply));
        return stage.toCompletableFuture().join();
    }

    private Grant grant(AcquisitionId of) {
        return new Grant(of, 42, 30_000, null);
    }

    @Test
    void abandonment_endsGrantAndPlace_andForgetsTheWaiter() {
        waiters.expect(owner);
        assertThat(backend.waiting()).isEqualTo(1);
        CompletionStage<Void> ended = backend.abandon(acquisition, TIMEOUT_MILLIS);
        assertSent(RedisScript.RELEASE, ALL, "0 " + owner + " 300000 0 ", "0", "300000", "both", "");
        assertThat(said).containsExactly("unwanted " + owner, "ended " + owner);
        assertThat(backend.waiting()).isZero();
        assertThat(answered(ended, 1L)).isNull();

        backend.abandon(share, TIMEOUT_MILLIS);
        assertSent(RedisDemandScripts.RELEASE, ALL, "0 " + share.owner() + " 300000 0 ", "0", "300000", "both", "");
    }

    @Test
    void abandonmentOfAPlace_leavesTheGrant() {
        waiters.expect(owner);
        CompletionStage<Void> ended = backend.abandonPlace(acquisition, TIMEOUT_MILLIS);
        assertSent(RedisScript.RELEASE, ALL, "0 " + owner + " 300000 0 ", "0", "300000", "place", "");
        assertThat(said).containsExactly("unwanted " + owner);
        assertThat(backend.waiting()).isZero();
        assertThat(answered(ended, 0L)).isNull();
    }

    @Test
    void takingBack_namesTheGeneration_andLeavesThePlace() {
        waiters.expect(owner);
        CompletionStage<Boolean> ended = backend.takeBack(acquisition, 7, TIMEOUT_MILLIS);
        assertSent(RedisScript.RELEASE, ALL, "0 " + owner + " 300000 0 ", "0", "300000", "grant", "7");
        assertThat(said).containsExactly("taken back " + owner + " 7");
        assertThat(backend.waiting()).isEqualTo(1);
        assertThat(answered(ended, 1L)).isTrue();
        assertThat(answered(backend.takeBack(acquisition, 7, TIMEOUT_MILLIS), 0L))
                .isFalse();
    }

    @Test
    void release_hasTheToken_andAnIdOfItsOwn() {
        CompletionStage<ReleaseResult> released = backend.release(grant(acquisition), TIMEOUT_MILLIS);
        Object id = server.last().args().get(4);
        assertThat(id).asString().matches("[0-9a-f]{16}");
        assertSent(RedisScript.RELEASE, ALL, "0 " + owner + " 300000 42 ", "42", "300000", "release", id);
        assertThat(said).containsExactly("ended " + owner);
        assertThat(answered(released, "1")).isEqualTo(ReleaseResult.RELEASED);
        CompletionStage<ReleaseResult> again = backend.release(grant(share), TIMEOUT_MILLIS);
        assertThat(server.last().args().get(4)).isNotEqualTo(id);
        assertThat(server.last().script()).isEqualTo(RedisDemandScripts.RELEASE.digest());
        assertThat(answered(again, 0L)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    @Test
    void questions_readTheStateAlone() {
        var holders = backend.holders("n", TIMEOUT_MILLIS);
        assertSent(RedisDemandScripts.HOLDERS, new Object[] {KEYS.lock()});
        String lines = "\naa\t0\t0 43 9 1 1700000000123 8 h two\nbb\t0\t0 42 9 1 1700000000123 7 h one";
        assertThat(answered(holders, "s", "0", lines)).hasSize(2);
        assertThat(answered(backend.holder("n", TIMEOUT_MILLIS), "s", "0", lines))
                .hasValueSatisfying(first -> assertThat(first.token()).isEqualTo(42));
        assertThat(answered(backend.holder("n", TIMEOUT_MILLIS), "-", "0", "")).isEmpty();
        CompletionStage<Integer> limit = backend.changeLimit("n", 3, 5, TIMEOUT_MILLIS);
        assertSent(RedisDemandScripts.CHANGE_LIMIT, WITH_LIMIT, "3", "5");
        assertThat(answered(limit, 4L)).isEqualTo(4);
    }

    /** Those that are scripts, by what they are called; white space distinguishes them. */
    private Map<String, BiFunction<RedisLockBackend, Long, CompletionStage<?>>> scripts() {
        Map<String, BiFunction<RedisLockBackend, Long, CompletionStage<?>>> requests = new LinkedHashMap<>();
        requests.put("abandon", (any, millis) -> any.abandon(acquisition, millis));
        requests.put("abandon ", (any, millis) -> any.abandonPlace(acquisition, millis));
        requests.put("release", (any, millis) -> any.release(grant(acquisition), millis));
        requests.put("release ", (any, millis) -> any.takeBack(acquisition, 1, millis));
        requests.put("holder", (any, millis) -> any.holder("n", millis));
        requests.put("holder ", (any, millis) -> any.holders("n", millis));
        requests.put("change of the limit", (any, millis) -> any.changeLimit("n", 1, 2, millis));
        return requests;
    }

    private static void assertUnavailable(CompletableFuture<?> failed, String message) {
        assertThat(failed.handle((value, failure) -> FailureTranslator.unwrap(failure))
                        .orTimeout(10, TimeUnit.SECONDS)
                        .join())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage(message + "; the outcome is unknown, try again");
    }

    @Test
    void failure_saysWhichRequestItWas() {
        scripts().forEach((name, request) -> {
            CompletableFuture<?> failed = request.apply(backend, TIMEOUT_MILLIS).toCompletableFuture();
            server.last().answer().completeExceptionally(new RedisException("made up by the test; expect it"));
            assertThat(failed).isCompletedExceptionally();
            assertUnavailable(failed, name.strip() + ": no usable answer from Redis: made up by the test; expect it");
        });
    }

    @Test
    void requestWithoutAnAnswer_endsWithItsTime_andSaysWhichItWas() {
        Map<String, BiFunction<RedisLockBackend, Long, CompletionStage<?>>> requests = scripts();
        requests.put("listing", (any, millis) -> any.list("", 1, millis));
        requests.put("examination", (any, millis) -> any.examine(millis));
        requests.forEach((name, request) -> assertUnavailable(
                request.apply(backend, 1L).toCompletableFuture(), name.strip() + ": no answer from Redis in time"));
    }

    @Test
    void attempts_haveRisingGenerations() {
        AcquireRequest request = new AcquireRequest(acquisition, 30_000, 0, false, null, TIMEOUT_MILLIS, IDENTITY);
        backend.tryAcquire(request);
        backend.tryAcquire(request);
        backend.tryAcquire(request, 17);
        assertThat(generations).containsExactly(1L, 2L, 17L);
    }

    @Test
    void subscription_isForTicketsOfItsOwn() {
        AtomicInteger calls = new AtomicInteger();
        assertThat(backend.subscribe(new Ticket() {}, calls::incrementAndGet)).isSameAs(Subscription.NONE);
        Subscription listening = backend.subscribe(new RedisTicket(acquisition, false, 1), calls::incrementAndGet);
        waiters.call(owner);
        assertThat(calls).hasValue(1);
        listening.close();
        assertThat(backend.waiting()).isZero();
        assertThat(said).containsExactly("unwanted " + owner);
    }

    @Test
    void info_saysHowItWaits() {
        BackendInfo called = backend.info();
        assertThat(called.name()).isEqualTo("redis");
        assertThat(called.fifo()).isTrue();
        assertThat(called.minLeaseMillis()).isEqualTo(100);
        assertThat(List.of(called.pollMinMillis(), called.pollMaxMillis())).containsExactly(1_000L, 1_000L);
        assertThat(called.ordered()).isTrue();
        assertThat(called.handsOver()).isTrue();
        BackendInfo polling = backend(false, null).info();
        assertThat(polling.fifo()).isFalse();
        assertThat(List.of(polling.pollMinMillis(), polling.pollMaxMillis())).containsExactly(70L, 900L);
        assertThat(polling.ordered()).isTrue();
        assertThat(polling.handsOver()).isFalse();
        BackendInfo replicated = backend(true, new ReplicaAcknowledgement(1, 100, ReplicaPolicy.REFUSE))
                .info();
        assertThat(replicated.fifo()).isTrue();
        assertThat(replicated.ordered()).isFalse();
        assertThat(replicated.handsOver()).isFalse();
        assertThat(List.of(called, polling, replicated)).allSatisfy(info -> {
            assertThat(info.blocking()).isFalse();
            assertThat(info.expiring()).isTrue();
            assertThat(info.listing()).isTrue();
            assertThat(info.demands()).isEqualTo(EnumSet.allOf(Demand.Kind.class));
        });
    }

    /** A replica publishes it too. The lock may be held here, and a message must not release it. */
    @Test
    void handOver_toAnOwnerThatHasNotEnded_releasesNothing() {
        waiters.message(owner + " 1 77 2000 " + KEYS.lock());
        assertThat(server.sent).isEmpty();
    }

    @Test
    void handOver_toAnOwnerThatHasEnded_isGivenBack() {
        backend.abandon(acquisition, TIMEOUT_MILLIS);
        waiters.message(owner + " 7 77 2000 " + KEYS.lock());
        assertThat(server.sent).hasSize(2);
        assertSent(RedisScript.RELEASE, ALL, "0 " + owner + " 300000 0 ", "0", "300000", "grant", "7");
    }

    @Test
    void end_comesToTheConnectionsLast() {
        backend.close();
        assertThat(said).containsExactly("signals closed", "sender closed", "closed");
    }

    @Test
    void none_letsWaitersPoll() {
        assertThat(RedisSignals.NONE.queues()).isFalse();
        assertThat(RedisSignals.NONE.mode(KEYS)).isEqualTo("-");
        assertThat(RedisSignals.NONE.inbox()).isEmpty();
    }
}
