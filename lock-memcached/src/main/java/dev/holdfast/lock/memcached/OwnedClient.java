package dev.holdfast.lock.memcached;

import com.spotify.folsom.AsciiMemcacheClient;
import com.spotify.folsom.ConnectFuture;
import com.spotify.folsom.ExponentialBackoff;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheClientBuilder;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Greeting;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/** A client of our own, with one connection and one thread, which {@link HealingClient} replaces if necessary. Thread-safe. */
final class OwnedClient {
    /** Beyond the time-out of a connection and its login, after which Folsom reports a failure. */
    private static final Duration ALLOWANCE = Duration.ofSeconds(2);

    /** A server that asks for a login answers CLIENT_ERROR. */
    private static final Greeting VERSION = new Greeting(
            "memcached",
            "version\r\n".getBytes(StandardCharsets.US_ASCII),
            said -> new String(said, StandardCharsets.US_ASCII).matches("(?s)(VERSION|CLIENT_ERROR|ERROR).*"));

    private final MemcacheClient<byte[]> client;
    private final Loop loop;
    private final FailureTranslator failures;
    private final Duration timeout;

    private OwnedClient(MemcacheClient<byte[]> client, Loop loop, FailureTranslator failures, Duration timeout) {
        this.client = client;
        this.loop = loop;
        this.failures = failures;
        this.timeout = timeout;
    }

    /**
     * Connects, and waits for the connection.
     *
     * @param timeout for the connection; later, a request without an answer for as long ends the connection
     * @throws LockUnavailableException if the server cannot be reached
     * @throws LockConfigurationException if it refuses the login
     */
    static OwnedClient connect(MemcachedUri address, Duration timeout) {
        ConnectionState link = new ConnectionState();
        FailureTranslator failures = MemcachedFailures.of(address.toString(), link);
        Loop loop = new Loop();
        @Nullable AsciiMemcacheClient<byte[]> client = null;
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        try (ConnectDiagnosis diagnosis = new ConnectDiagnosis(address.target(), VERSION, failures, deadlineNanos)) {
            client = connect(address, timeout, link, loop, diagnosis);
            MemcacheClient<byte[]> healing = HealingClient.of(
                    client,
                    () -> connecting(address, timeout, link, loop),
                    loop::hasEnded,
                    link,
                    timeout.multipliedBy(2).plus(ALLOWANCE));
            return new OwnedClient(healing, loop, failures, timeout);
        } finally {
            if (client == null) {
                loop.end(timeout.toNanos());
            }
        }
    }

    private static AsciiMemcacheClient<byte[]> connect(
            MemcachedUri address, Duration timeout, ConnectionState link, Loop loop, ConnectDiagnosis diagnosis) {
        @Nullable AsciiMemcacheClient<byte[]> client = null;
        try {
            client = connecting(address, timeout, link, loop);
            Answers.get(link.first(), timeout.toMillis(), TimeUnit.MILLISECONDS);
            Answers.get(
                    ConnectFuture.connectFuture(client).toCompletableFuture(),
                    timeout.toMillis(),
                    TimeUnit.MILLISECONDS);
            return client;
        } catch (ExecutionException | TimeoutException | RuntimeException e) {
            shutDown(client);
            throw diagnosis.explain(e);
        } catch (InterruptedException e) {
            shutDown(client);
            Thread.currentThread().interrupt();
            throw new LockUnavailableException("connecting to " + address + " was interrupted; try again", e);
        }
    }

    private static AsciiMemcacheClient<byte[]> connecting(
            MemcachedUri address, Duration timeout, ConnectionState link, Loop loop) {
        return builder(address, link, timeout)
                .withEventLoopGroup(loop.alive())
                .withChannelClass(address.tls() ? NioSocketChannel.class : DeferredRead.Channel.class)
                .connectAscii();
    }

    /** One network thread at a time. Thread-safe. */
    private static final class Loop {
        private final ClientThreads threads = new ClientThreads();
        private volatile EventLoopGroup current = begun(threads);

        /** Uses a class that Netty 4.1 also has, which Spring Boot 3.5 brings; 4.2 has another name for it. */
        @SuppressWarnings("deprecation")
        private static EventLoopGroup begun(ClientThreads threads) {
            return new NioEventLoopGroup(1, threads.by(new DefaultThreadFactory("holdfast-memcached", true)));
        }

        /** Whether it has, by an Error or by {@link #end}. */
        boolean hasEnded() {
            return current.isShuttingDown();
        }

        /** The thread, or another one if it has ended; not after {@link #end}. */
        EventLoopGroup alive() {
            if (hasEnded()) {
                current = begun(threads);
            }
            return current;
        }

        void end(long nanos) {
            // Without a quiet period, a connection that is made while the loop shuts down would stay open; with one,
            // Netty checks again.
            current.shutdownGracefully(20, 1_000, TimeUnit.MILLISECONDS);
            threads.awaitEnd(nanos);
        }
    }

    private static MemcacheClientBuilder<byte[]> builder(MemcachedUri address, ConnectionState link, Duration timeout) {
        MemcacheClientBuilder<byte[]> builder = MemcacheClientBuilder.newByteArrayClient()
                .withAddress(address.host(), address.port())
                .withConnections(1) // one connection keeps the order of the requests
                .withRetry(false) // a request that is sent twice may acquire a lock twice
                .withReplyExecutor(null)
                .withMaxOutstandingRequests(100_000)
                .withBackoff(new ExponentialBackoff(20, 1_000, 2.0))
                .withConnectionTimeoutMillis(timeout.toMillis())
                .withReconnectionListener(link.ofNewClient());
        address.uri()
                .user()
                .ifPresent(user -> builder.withUsernamePassword(
                        user, address.uri().password().orElseThrow()));
        if (address.tls()) {
            SSLContext context =
                    TrustedAuthority.context(address.uri().parameter("ca").orElse(null));
            builder.withSSLEngineFactory((host, port) -> engine(context, host, port));
        }
        return builder;
    }

    private static SSLEngine engine(SSLContext context, String host, int port) {
        SSLEngine engine = context.createSSLEngine(host, port);
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        engine.setSSLParameters(parameters);
        return engine;
    }

    MemcacheClient<byte[]> client() {
        return client;
    }

    FailureTranslator failures() {
        return failures;
    }

    /** Closes the client, and waits for the end of its thread, for no longer than a request may take. */
    void close() {
        shutDown(client);
        loop.end(timeout.toNanos());
    }

    private static void shutDown(@Nullable MemcacheClient<byte[]> client) {
        if (client != null) {
            client.shutdown();
        }
    }
}
