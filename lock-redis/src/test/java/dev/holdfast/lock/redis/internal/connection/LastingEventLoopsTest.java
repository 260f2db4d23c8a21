package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** An event loop that ends takes no later connection with it. */
final class LastingEventLoopsTest {
    private static final long PATIENCE_SECONDS = 60;

    private final List<Thread> threads = new CopyOnWriteArrayList<>();

    private LastingEventLoops loops() {
        return new LastingEventLoops(pool -> {
            DefaultThreadFactory factory = new DefaultThreadFactory(pool, true);
            return task -> {
                Thread thread = factory.newThread(task);
                threads.add(thread);
                return thread;
            };
        });
    }

    private static Channel connect(EventLoopGroup group, Channel server) throws Exception {
        return new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter())
                .connect(server.localAddress())
                .sync()
                .channel();
    }

    @Test
    void loopHasEnded_theNextConnectionHasAnother_andTheEndEndsIt() throws Exception {
        NioEventLoopGroup servers = new NioEventLoopGroup(1);
        try {
            Channel server = new ServerBootstrap()
                    .group(servers)
                    .channel(NioServerSocketChannel.class)
                    .childHandler(new ChannelInboundHandlerAdapter())
                    .bind(InetAddress.getLoopbackAddress(), 0)
                    .sync()
                    .channel();
            LastingEventLoops loops = loops();
            EventLoopGroup group = loops.allocate(NioEventLoopGroup.class);
            Channel first = connect(group, server);
            Channel second = connect(group, server);
            assertThat(second.eventLoop()).as("one for all connections").isSameAs(first.eventLoop());

            // As after an Error.
            first.eventLoop().shutdownGracefully(0, 0, TimeUnit.SECONDS).await(PATIENCE_SECONDS, TimeUnit.SECONDS);
            Channel third = connect(group, server);
            assertThat(third.isActive()).isTrue();
            assertThat(third.eventLoop()).isNotSameAs(first.eventLoop());
            assertThat(connect(group, server).eventLoop()).isSameAs(third.eventLoop());

            assertThat(loops.release(group, 0, 0, TimeUnit.SECONDS).await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(group.next().isShuttingDown())
                    .as("no other one after the end")
                    .isTrue();
            for (Thread thread : threads) {
                thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
            assertThat(threads).hasSize(2);
        } finally {
            servers.shutdownGracefully(0, 0, TimeUnit.SECONDS).await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }
}
