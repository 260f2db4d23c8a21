package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.options.LeaseOption;
import io.grpc.Context;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which calls are made twice, in which context, and for how long their answers are waited for. */
final class EtcdCallsTest {
    private static final Status TOKEN_REFUSED =
            Status.UNAUTHENTICATED.withDescription("etcdserver: invalid auth token");

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();

    @AfterEach
    void close() {
        etcd.close();
    }

    private CompletableFuture<Boolean> asked() {
        return calls.isThere(7);
    }

    /** Nothing was done, and the next one logs in again. */
    @Test
    void callWhoseTokenIsRefused_isRepeatedOnce() {
        CompletableFuture<Boolean> call = asked();
        etcd.next("timeToLive").fails(TOKEN_REFUSED);
        assertThat(etcd.requests).hasSize(2);

        etcd.next("timeToLive").answers(ScriptedEtcd.lives(5));
        assertThat(ScriptedEtcd.now(call)).isTrue();
    }

    @Test
    void callWhoseTokenIsRefusedTwice_fails() {
        CompletableFuture<Boolean> call = asked();
        etcd.next("timeToLive").fails(TOKEN_REFUSED);
        etcd.next("timeToLive").fails(TOKEN_REFUSED);

        assertThat(EtcdFailures.isTokenRefused(ScriptedEtcd.failure(call))).isTrue();
        assertThat(etcd.requests).hasSize(2);
    }

    /** It may have been carried out. */
    @Test
    void callThatFailsOtherwise_isNotRepeated() {
        for (Status status : List.of(Status.UNAVAILABLE, Status.UNAUTHENTICATED, Status.DEADLINE_EXCEEDED)) {
            int before = etcd.requests.size();
            CompletableFuture<Boolean> call = asked();
            etcd.next("timeToLive").fails(status);

            assertThat(ScriptedEtcd.failure(call))
                    .hasMessageContaining(status.getCode().name());
            assertThat(etcd.requests).hasSize(before + 1);
        }
    }

    @Test
    void callThatThrows_fails() {
        IllegalStateException thrown = new IllegalStateException("the client is closed");
        CompletableFuture<String> call = EtcdCalls.guarded(() -> {
            throw thrown;
        });

        assertThat(ScriptedEtcd.failure(call)).isSameAs(thrown);
    }

    @Test
    void lease_isThere_unlessItsTimeIsNegative() {
        for (long ttl : new long[] {-1, 0, 1}) {
            CompletableFuture<Boolean> there = asked();
            ScriptedEtcd.Request sent = etcd.next("timeToLive");
            assertThat(sent.lease()).isEqualTo(7);
            assertThat(((LeaseOption) sent.arguments().get(1)).isAttachedKeys())
                    .as("needs no permission for the keys")
                    .isFalse();
            sent.answers(ScriptedEtcd.lives(ttl));
            assertThat(ScriptedEtcd.now(there)).as("%d seconds", ttl).isEqualTo(ttl >= 0);
        }
        calls.keysOf(7);
        assertThat(((LeaseOption) etcd.next("timeToLive").arguments().get(1)).isAttachedKeys())
                .isTrue();
    }

    /** The request that the caller serves may end, and its context with it; a renewal has one of its own, which ends its stream. */
    @Test
    void calls_areNotInTheCallersContext() throws Exception {
        Context.CancellableContext callers = Context.ROOT.withCancellation();
        Context.CancellableContext own = Context.ROOT.withCancellation();
        callers.call(() -> {
            asked();
            calls.keepAliveOnce(7, own);
            return calls.members();
        });

        assertThat(etcd.requests.get(0).context()).isSameAs(Context.ROOT);
        assertThat(etcd.requests.get(2).context()).isSameAs(Context.ROOT);
        callers.cancel(null);
        assertThat(etcd.requests.get(1).context().isCancelled()).isFalse();
        own.cancel(null);
        assertThat(etcd.requests.get(1).context().isCancelled()).isTrue();
    }

    @Test
    void bounded_isTheSame_orFailsWhenTheTimeIsOver() throws Exception {
        assertThat(calls.bounded(CompletableFuture.completedFuture("done"), 60_000))
                .isCompletedWithValue("done");
        IllegalStateException cause = new IllegalStateException("by the test");
        CompletableFuture<String> failed = CompletableFuture.failedFuture(new CompletionException(cause));
        List<Throwable> told = new ArrayList<>();
        calls.bounded(failed, 60_000).whenComplete((value, failure) -> told.add(failure));
        assertThat(told).as("not wrapped").containsExactly(cause);

        for (long millis : new long[] {-5, 0, 20}) {
            CompletableFuture<String> silent = new CompletableFuture<>();
            long startNanos = System.nanoTime();
            CompletableFuture<String> bounded = calls.bounded(silent, millis);
            assertThat(bounded.handle((value, failure) -> failure).get(1, TimeUnit.MINUTES))
                    .isInstanceOf(TimeoutException.class);
            assertThat(System.nanoTime() - startNanos)
                    .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(Math.max(1, millis)));
            assertThat(silent).as("the call goes on").isNotDone();
        }
    }

    @Test
    void deadline_leavesWhatIsNotSpent_andAtLeastAMillisecond() {
        long now = System.nanoTime();
        long second = TimeUnit.SECONDS.toNanos(1);

        assertThat(new Deadline(now, 30_000).leftMillis()).isBetween(20_000L, 30_000L);
        assertThat(new Deadline(now - 20 * second, 30_000).leftMillis()).isBetween(1L, 10_000L);
        assertThat(new Deadline(now - 60 * second, 30_000).leftMillis()).isEqualTo(1);
        assertThat(new Deadline(now, 0).leftMillis()).isEqualTo(1);
    }
}
