package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.support.Timeouts;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Gives every call a deadline, except watches and calls that have a deadline already. gRPC's own deadline needs a timer
 * for each call and wakes a thread each time; here all calls share one timer. A late call is cancelled and fails like a
 * call that exceeds gRPC's own deadline. Thread-safe.
 */
public final class DeadlineInterceptor implements ClientInterceptor {
    private static final String WATCHES = "etcdserverpb.Watch";

    private final Timeouts timeouts = new Timeouts();
    private final long millis;

    public DeadlineInterceptor(Duration timeout) {
        this.millis = timeout.toMillis();
    }

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        ClientCall<ReqT, RespT> call = next.newCall(method, options);
        boolean isBounded = options.getDeadline() != null || WATCHES.equals(method.getServiceName());
        return isBounded ? call : new BoundedCall<>(call);
    }

    private final class BoundedCall<ReqT, RespT> extends SimpleForwardingClientCall<ReqT, RespT> {
        /** Fails at the deadline; otherwise completes when the call is closed. */
        private final CompletableFuture<Void> closed = new CompletableFuture<>();

        BoundedCall(ClientCall<ReqT, RespT> call) {
            super(call);
        }

        @Override
        public void start(Listener<RespT> listener, Metadata headers) {
            super.start(
                    new SimpleForwardingClientCallListener<>(listener) {
                        @Override
                        public void onClose(Status status, Metadata trailers) {
                            timeouts.cancel(closed);
                            boolean late = !closed.complete(null) && status.getCode() == Status.Code.CANCELLED;
                            super.onClose(
                                    late ? Status.DEADLINE_EXCEEDED.withCause(status.getCause()) : status, trailers);
                        }
                    },
                    headers);
            closed.whenComplete((nothing, late) -> {
                if (late != null) {
                    cancel("no answer within " + millis + " ms", late);
                }
            });
            timeouts.start(closed, millis); // not earlier: a call must not be cancelled while it starts
        }
    }
}
