package dev.holdfast.lock.etcd;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;

/**
 * Lets answers and events be handled by the thread that reads them from the connection, without gRPC's change to another
 * one for each. That is for a client that nobody else uses: this backend and the engine never block in them, and what
 * users do when a future completes or a listener is called runs on threads of the engine. Stateless.
 */
final class DirectExecutorInterceptor implements ClientInterceptor {

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withExecutor(Runnable::run));
    }
}
