package dev.holdfast.lock.etcd;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Gives every call a deadline, but for watches, which live as long as they are wanted. Stateless. */
final class GrpcDeadlineInterceptor implements ClientInterceptor {
    private static final String WATCHES = "etcdserverpb.Watch";

    private final long millis;

    GrpcDeadlineInterceptor(Duration timeout) {
        this.millis = timeout.toMillis();
    }

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        return next.newCall(
                method,
                isBounded(method, options) ? options : options.withDeadlineAfter(millis, TimeUnit.MILLISECONDS));
    }

    /** Whether a call has a deadline already, or is not to have one. */
    static boolean isBounded(MethodDescriptor<?, ?> method, CallOptions options) {
        return options.getDeadline() != null || WATCHES.equals(method.getServiceName());
    }
}
