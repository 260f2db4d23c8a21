package dev.holdfast.lock.etcd.internal.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;

/**
 * Handles answers and events on the thread that reads them from the connection, without gRPC's switch to another
 * thread. It is for clients that only this backend uses: the backend and the engine never block on that thread, and
 * users' callbacks run on threads of the engine. Stateless.
 */
public final class DirectExecutorInterceptor implements ClientInterceptor {

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withExecutor(Runnable::run));
    }
}
