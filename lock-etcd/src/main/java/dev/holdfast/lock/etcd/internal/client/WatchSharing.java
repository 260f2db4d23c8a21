package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;

/**
 * Puts the watches of a lock client on its shared streams. All other calls, and the application's own watches, are
 * unchanged: only {@link EtcdCalls} sets {@link WatchStreams#ASKED}. Stateless.
 */
public final class WatchSharing implements ClientInterceptor {

    @Override
    @SuppressWarnings("unchecked") // only the method of watches has these types
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        WatchStreams.Ask ask = WatchStreams.ASKED.get();
        if (ask == null || !WatchGrpc.getWatchMethod().getFullMethodName().equals(method.getFullMethodName())) {
            return next.newCall(method, options);
        }
        return (ClientCall<ReqT, RespT>) ask.take(
                next, () -> (ClientCall<WatchRequest, WatchResponse>) (ClientCall<?, ?>) next.newCall(method, options));
    }
}
