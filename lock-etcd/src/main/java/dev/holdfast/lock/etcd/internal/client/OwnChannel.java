package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.ClientBuilder;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A channel with an event loop of its own, to which this interceptor sends the calls of a jetcd client.
 *
 * <p>jetcd's channels share the event loops of all gRPC clients in the process. Netty ends a loop at an Error, as in a full heap, and
 * gRPC never replaces it: from then on, calls of each channel have no answer or fail now and then. A loop of its own ends with its
 * channel, and the next client has another one.
 *
 * <p>Thread-safe.
 */
final class OwnChannel implements ClientInterceptor, AutoCloseable {
    /** Set for calls to another address than the client's. */
    static final Context.Key<Boolean> ELSEWHERE = Context.key("holdfast-elsewhere");

    private static final long END_MILLIS = 1_000;

    private final EventLoopGroup loop;
    private final ManagedChannel channel;

    private OwnChannel(EventLoopGroup loop, ManagedChannel channel) {
        this.loop = loop;
        this.channel = channel;
    }

    /** Creates the channel that a client of this builder would have; it connects at its first call. */
    static OwnChannel open(ClientBuilder like) {
        EventLoopGroup loop = newLoop();
        boolean opened = false;
        try {
            NettyChannelBuilder channel = NettyChannelBuilder.forTarget(like.target())
                    .eventLoopGroup(loop)
                    .channelType(NioSocketChannel.class)
                    .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int)
                            like.connectTimeout().toMillis())
                    .keepAliveTime(like.keepaliveTime().toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveTimeout(like.keepaliveTimeout().toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveWithoutCalls(like.keepaliveWithoutCalls())
                    .defaultLoadBalancingPolicy("round_robin");
            if (like.authority() != null) {
                channel.overrideAuthority(like.authority());
            }
            if (like.sslContext() == null) {
                channel.usePlaintext();
            } else {
                channel.sslContext(like.sslContext());
            }
            OwnChannel own = new OwnChannel(loop, channel.build());
            opened = true;
            return own;
        } finally {
            if (!opened) {
                end(loop);
            }
        }
    }

    /** The class is deprecated in Netty 4.2, and the only one in 4.1. */
    @SuppressWarnings("deprecation")
    private static EventLoopGroup newLoop() {
        DefaultThreadFactory threads = new DefaultThreadFactory("grpc-holdfast-worker", true);
        return new NioEventLoopGroup(1, task -> {
            Thread thread = threads.newThread(task);
            thread.setContextClassLoader(OwnChannel.class.getClassLoader());
            return thread;
        });
    }

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        return ELSEWHERE.get() == null ? channel.newCall(method, options) : next.newCall(method, options);
    }

    /** Ends the calls, and waits a moment for the end of the connection and of its thread. */
    @Override
    public void close() {
        channel.shutdownNow();
        try {
            channel.awaitTermination(END_MILLIS, TimeUnit.MILLISECONDS);
            end(loop);
            loop.awaitTermination(END_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            end(loop);
            Thread.currentThread().interrupt();
        }
    }

    private static void end(EventLoopGroup loop) {
        loop.shutdownGracefully(0, END_MILLIS, TimeUnit.MILLISECONDS);
    }
}
