package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a new connection to memcached notices before its first request, and from then on. */
@SuppressWarnings("deprecation") // the name that Netty 4.1 has as well
final class DeferredReadTest {
    private static final String ENDED = "ended";
    private static final long UNNOTICED_MILLIS = 300;

    private final EventLoopGroup loop = new NioEventLoopGroup(1);
    private final BlockingQueue<String> noticed = new LinkedBlockingQueue<>();
    private ServerSocket listening;
    private Channel channel;
    private Socket server;

    @BeforeEach
    void connect() throws Exception {
        listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        channel = new Bootstrap()
                .group(loop)
                .channel(DeferredRead.Channel.class)
                .handler(new Notice())
                .connect(listening.getLocalSocketAddress())
                .sync()
                .channel();
        server = listening.accept();
    }

    @AfterEach
    void close() throws Exception {
        server.close();
        listening.close();
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    @Test
    void bytes_beforeTheFirstRequest_areReadAfterIt_andLaterOnesAtOnce() throws Exception {
        say("early");
        assertThat(noticed.poll(UNNOTICED_MILLIS, TimeUnit.MILLISECONDS)).isNull();

        request();
        assertThat(next()).isEqualTo("early");
        say("later");
        assertThat(next()).isEqualTo("later");
    }

    @Test
    void reset_beforeTheFirstRequest_isNoticedByIt() throws Exception {
        server.setSoLinger(true, 0);
        server.close();
        assertThat(noticed.poll(UNNOTICED_MILLIS, TimeUnit.MILLISECONDS)).isNull();
        assertThat(channel.isActive()).isTrue();

        request();
        assertThat(next()).isEqualTo(ENDED);
    }

    @Test
    void end_beforeTheFirstRequest_isNoticedByIt() throws Exception {
        server.close();
        assertThat(noticed.poll(UNNOTICED_MILLIS, TimeUnit.MILLISECONDS)).isNull();
        assertThat(channel.isActive()).isTrue();

        request();
        assertThat(next()).isEqualTo(ENDED);
    }

    @Test
    void end_afterTheFirstRequest_isNoticedAtOnce() throws Exception {
        request();
        server.close();

        assertThat(next()).isEqualTo(ENDED);
    }

    @Test
    void close_beforeTheFirstRequest_endsTheConnection() throws Exception {
        channel.close();

        assertThat(next()).isEqualTo(ENDED);
        server.setSoTimeout(5_000);
        assertThat(server.getInputStream().read()).isEqualTo(-1);
    }

    private void say(String text) throws Exception {
        server.getOutputStream().write(text.getBytes(US_ASCII));
    }

    private void request() {
        channel.writeAndFlush(Unpooled.copiedBuffer("version\r\n", US_ASCII));
    }

    private String next() throws InterruptedException {
        return noticed.poll(5, TimeUnit.SECONDS);
    }

    private final class Notice extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
            noticed.add(bytes.toString(US_ASCII));
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            noticed.add(ENDED);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
