package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Replies on a real connection, whose thread has no memory for one of them. */
final class RepliesInOrderTest {
    private static final String ECHO = "return {1, ARGV[1], {2, 'x'}}";
    private static final NoMemory NO_MEMORY = new NoMemory();
    private static RedisServer server;
    private static ClientResources resources;
    private static RedisClient client;

    @BeforeAll
    static void start() throws Exception {
        server = RedisServer.start();
        resources = ClientResources.builder()
                .nettyCustomizer(new NettyCustomizer() {
                    @Override
                    public void afterChannelInitialized(Channel channel) {
                        channel.pipeline().addFirst(NO_MEMORY);
                    }
                })
                .build();
        client = RedisClient.create(
                resources,
                RedisURI.builder()
                        .withHost(server.host())
                        .withPort(server.port())
                        .withTimeout(Duration.ofSeconds(60))
                        .build());
    }

    @AfterAll
    static void stop() throws InterruptedException {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        resources.shutdown(0, 2, TimeUnit.SECONDS).await(10, TimeUnit.SECONDS);
        server.close();
    }

    private static CompletableFuture<List<Object>> echo(RedisAsyncCommands<String, String> commands, String text) {
        return commands.<List<Object>>eval(ECHO, ScriptOutputType.MULTI, new String[] {"key"}, text)
                .toCompletableFuture();
    }

    private static List<Object> reply(CompletableFuture<List<Object>> answer) throws Exception {
        return answer.get(60, TimeUnit.SECONDS);
    }

    /** Without memory for what the server has sent, which is gone then. */
    @ChannelHandler.Sharable
    private static final class NoMemory extends ChannelInboundHandlerAdapter {
        private final AtomicBoolean once = new AtomicBoolean();

        @Override
        public void channelRead(ChannelHandlerContext context, Object received) throws Exception {
            if (once.getAndSet(false)) {
                ReferenceCountUtil.release(received);
                throw new OutOfMemoryError("made up by the test; expect it");
            }
            super.channelRead(context, received);
        }
    }

    @Test
    void noMemoryForReplies_noCommandGetsThatOfAnother() throws Exception {
        try (StatefulRedisConnection<String, String> connection = client.connect(ExactStringCodec.INSTANCE)) {
            RedisAsyncCommands<String, String> commands = RepliesInOrder.of(connection);
            reply(echo(commands, "before"));
            NO_MEMORY.once.set(true);
            connection.setAutoFlushCommands(false);
            List<CompletableFuture<List<Object>>> lost =
                    List.of(echo(commands, "0"), echo(commands, "1"), echo(commands, "2"));
            connection.flushCommands();
            connection.setAutoFlushCommands(true);
            assertThatThrownBy(() -> reply(lost.get(0))).hasCauseInstanceOf(OutOfMemoryError.class);
            for (int i = 3; i < 6; i++) {
                echo(commands, "" + i);
            }
            CompletableFuture<List<Object>> next = lost.get(1);
            assertThatThrownBy(() -> reply(next)).hasCauseInstanceOf(RepliesInOrder.OutOfOrderException.class);
            CompletableFuture<List<Object>> last = lost.get(2);
            assertThatThrownBy(() -> reply(last)).hasCauseInstanceOf(RepliesInOrder.OutOfOrderException.class);
        }
    }

    /** Lettuce fails one of two commands whose replies are lost together, and both were given up: nothing tells but the order. */
    @Test
    void noMemoryForRepliesThatNobodyWaitsFor_noCommandGetsThatOfAnother() throws Exception {
        try (StatefulRedisConnection<String, String> connection = client.connect(ExactStringCodec.INSTANCE)) {
            RedisAsyncCommands<String, String> commands = RepliesInOrder.of(connection);
            reply(echo(commands, "before"));
            server.process().pause();
            try {
                connection.setAutoFlushCommands(false);
                List<CompletableFuture<List<Object>>> late = List.of(echo(commands, "0"), echo(commands, "1"));
                connection.flushCommands();
                connection.setAutoFlushCommands(true);
                Thread.sleep(300); // they are written by then
                late.forEach(
                        each -> each.completeExceptionally(new TimeoutException("made up by the test; expect it")));
                NO_MEMORY.once.set(true);
            } finally {
                server.process().resume();
            }
            await().atMost(Duration.ofSeconds(60)).until(() -> !NO_MEMORY.once.get());
            CompletableFuture<List<Object>> next = echo(commands, "2");
            CompletableFuture<List<Object>> last = echo(commands, "3");
            echo(commands, "4");
            assertThatThrownBy(() -> reply(next)).hasCauseInstanceOf(RepliesInOrder.OutOfOrderException.class);
            assertThatThrownBy(() -> reply(last)).hasCauseInstanceOf(RepliesInOrder.OutOfOrderException.class);
        }
    }

    @Test
    void listsErrorsAndTimeouts_inOrder_areAccepted() throws Exception {
        try (StatefulRedisConnection<String, String> connection = client.connect(ExactStringCodec.INSTANCE)) {
            RedisAsyncCommands<String, String> commands = RepliesInOrder.of(connection);
            assertThat(reply(echo(commands, "one"))).containsExactly(1L, "one", List.of(2L, "x"));
            assertThatThrownBy(() -> commands.evalsha("0".repeat(40), ScriptOutputType.MULTI, new String[] {"key"}, "a")
                            .get(60, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("NOSCRIPT");
            server.process().pause();
            CompletableFuture<List<Object>> late;
            CompletableFuture<List<Object>> next;
            try {
                late = echo(commands, "late");
                next = echo(commands, "next");
                late.completeExceptionally(new TimeoutException("made up by the test; expect it"));
            } finally {
                server.process().resume();
            }
            assertThat(reply(next)).contains("next");
            assertThat(commands.ping().get(60, TimeUnit.SECONDS)).isEqualTo("PONG");
            assertThat(reply(echo(commands, "two"))).contains("two");
        }
    }

    @Test
    void connectionIsLostAndBack_repliesOfBeforeAreNotExpected() throws Exception {
        try (RedisServer own = RedisServer.start();
                StatefulRedisConnection<String, String> connection = client.connect(
                        ExactStringCodec.INSTANCE, RedisURI.create("redis://" + own.host() + ":" + own.port()))) {
            RedisAsyncCommands<String, String> commands = RepliesInOrder.of(connection);
            own.process().pause();
            CompletableFuture<List<Object>> open = echo(commands, "open");
            own.process().kill();
            own.process().start();
            open.cancel(false);
            assertThat(reply(echo(commands, "after"))).contains("after");
            assertThat(reply(echo(commands, "again"))).contains("again");
        }
    }

    /** Lettuce sends what has no reply again, but not what was given up: here the first command, and not the second. */
    @Test
    void commandIsSentAgain_onANewConnection_itsReplyAndLaterOnesAreAccepted() {
        try (StatefulRedisConnection<String, String> connection = client.connect(ExactStringCodec.INSTANCE)) {
            RepliesInOrder order = new RepliesInOrder(connection);
            RepliesInOrder.Script again = order.new Script(ExactStringCodec.INSTANCE);
            order.written(again);
            order.arrives(again);
            order.written(order.new Script(ExactStringCodec.INSTANCE));
            order.forget();

            order.written(again);
            order.arrives(again);
            order.ends(again);
            RepliesInOrder.Script later = order.new Script(ExactStringCodec.INSTANCE);
            order.written(later);
            order.arrives(later);
            assertThatCode(() -> order.goesOn(later)).doesNotThrowAnyException();
            assertThatThrownBy(() -> order.goesOn(again)).isInstanceOf(RepliesInOrder.OutOfOrderException.class);
        }
    }

    static Stream<Named<Consumer<RepliesInOrder.Script>>> partsOfAReply() {
        return Stream.of(
                Named.of("a number", script -> script.set(7)),
                Named.of("a fraction", script -> script.set(0.5)),
                Named.of("a text", script -> script.set(ByteBuffer.wrap(new byte[] {'x'}))),
                Named.of("a line", script -> script.setSingle(ByteBuffer.wrap(new byte[] {'x'}))),
                Named.of("an error", script -> script.setError(ByteBuffer.wrap(new byte[] {'x'}))),
                Named.of("a list", script -> script.multi(2)));
    }

    /** After an Error amid a reply, Lettuce takes what is left of it for the reply to the next command. */
    @ParameterizedTest
    @MethodSource("partsOfAReply")
    void restOfAReply_isNotTheReplyToTheNextCommand(Consumer<RepliesInOrder.Script> rest) {
        try (StatefulRedisConnection<String, String> connection = client.connect(ExactStringCodec.INSTANCE)) {
            RepliesInOrder order = new RepliesInOrder(connection);
            RepliesInOrder.Script half = order.new Script(ExactStringCodec.INSTANCE);
            RepliesInOrder.Script next = order.new Script(ExactStringCodec.INSTANCE);
            order.written(half);
            order.written(next);
            half.multi(2);

            assertThatThrownBy(() -> rest.accept(next)).isInstanceOf(RepliesInOrder.OutOfOrderException.class);
        }
    }
}
