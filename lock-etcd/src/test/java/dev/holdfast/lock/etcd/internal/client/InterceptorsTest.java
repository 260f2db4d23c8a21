package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.ScriptedChannel;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.WatchGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which calls end after a time, and how; and whose threads take their answers. */
final class InterceptorsTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SHORT = Duration.ofMillis(20);

    private final ScriptedChannel channel = new ScriptedChannel();
    private final List<Status> told = new ArrayList<>();

    private <Q, A> ClientCall<Q, A> intercepted(
            ClientInterceptor by, MethodDescriptor<Q, A> method, CallOptions options) {
        return by.interceptCall(method, options, channel);
    }

    private <Q, A> ScriptedChannel.Call<?, ?> started(ClientInterceptor by, MethodDescriptor<Q, A> method) {
        intercepted(by, method, CallOptions.DEFAULT)
                .start(
                        new ClientCall.Listener<>() {
                            @Override
                            public void onClose(Status status, Metadata trailers) {
                                told.add(status);
                            }
                        },
                        new Metadata());
        return channel.calls.get(channel.calls.size() - 1);
    }

    private static String cancelled(ScriptedChannel.Call<?, ?> call) throws Exception {
        return call.cancelled.get(1, TimeUnit.MINUTES);
    }

    @Test
    void callWithoutAnswer_isCancelled_andFailsAsWithADeadline() throws Exception {
        IllegalStateException cause = new IllegalStateException("cancelled");
        for (MethodDescriptor<?, ?> method : List.of(KVGrpc.getTxnMethod(), LeaseGrpc.getLeaseKeepAliveMethod())) {
            told.clear();
            var call = started(new DeadlineInterceptor(SHORT), method);
            assertThat(cancelled(call)).isEqualTo("no answer within 20 ms");

            call.closes(Status.CANCELLED.withCause(cause));

            assertThat(told).singleElement().satisfies(status -> {
                assertThat(status.getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
                assertThat(status.getCause()).isSameAs(cause);
            });
        }
    }

    /** It came in the moment in which it was cancelled. */
    @Test
    void answerInTheLastMoment_isReported() throws Exception {
        for (Status status : List.of(Status.OK, Status.UNAVAILABLE)) {
            told.clear();
            var call = started(new DeadlineInterceptor(SHORT), KVGrpc.getTxnMethod());
            cancelled(call);

            call.closes(status);

            assertThat(told).containsExactly(status);
        }
    }

    @Test
    void callThatEndsInTime_isReportedUnchanged_evenIfCancelledElsewhere() {
        for (Status status : List.of(Status.OK, Status.CANCELLED, Status.NOT_FOUND)) {
            told.clear();
            var call = started(new DeadlineInterceptor(LONG), KVGrpc.getTxnMethod());

            call.closes(status);

            assertThat(told).containsExactly(status);
            assertThat(call.cancelled).isNotDone();
        }
    }

    /** A watch waits for as long as a lock is held; a login has a deadline of its own. */
    @Test
    void watch_andWhatHasADeadline_areLeftAlone() {
        DeadlineInterceptor deadlines = new DeadlineInterceptor(SHORT);
        CallOptions own = CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.MINUTES);

        assertThat((Object) intercepted(deadlines, WatchGrpc.getWatchMethod(), CallOptions.DEFAULT))
                .isSameAs(channel.calls.get(0));
        assertThat((Object) intercepted(deadlines, KVGrpc.getTxnMethod(), own)).isSameAs(channel.calls.get(1));
        assertThat((Object) intercepted(deadlines, KVGrpc.getTxnMethod(), CallOptions.DEFAULT))
                .isNotSameAs(channel.calls.get(2));
        assertThat(channel.calls.get(1).options).isSameAs(own);
    }

    /** A change of threads costs as much as a tenth of a transaction. */
    @Test
    void answers_areTakenByTheThreadThatReadsThem() {
        intercepted(new DirectExecutorInterceptor(), KVGrpc.getTxnMethod(), CallOptions.DEFAULT);
        List<Thread> ran = new ArrayList<>();

        Objects.requireNonNull(channel.calls.get(0).options.getExecutor())
                .execute(() -> ran.add(Thread.currentThread()));

        assertThat(ran).containsExactly(Thread.currentThread());
    }
}
