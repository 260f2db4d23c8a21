package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.FreshClient;
import dev.holdfast.lock.etcd.internal.client.OwnClient;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.Greeting;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.options.GetOption;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;

/**
 * Connects to {@code etcd://[user:password@]host[:port],host[:port]…} and, with TLS, {@code etcds://…}.
 *
 * <p>Parameters: {@code prefix} (by default {@code holdfast/}), {@code mode} ({@code queue} or {@code single-key}), and
 * with TLS {@code ca} (a PEM file with the certificates to trust instead of the platform's), {@code cert} and {@code key}
 * (PEM files with this client's own certificate and PKCS#8 key) and {@code authority} (the name that the server's
 * certificate is checked against, by default the host's).
 */
public final class EtcdLockProvider implements LockProvider {

    private static final GetOption ONE_KEY =
            GetOption.builder().isPrefix(true).withKeysOnly(true).withLimit(1).build();

    private static final int FIRST_REPEATS = 4;

    /** How HTTP/2 begins, with empty settings; a server answers with its own (RFC 9113, sections 3.4 and 6.5). */
    private static final Greeting PREFACE = new Greeting(
            "etcd",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0".getBytes(StandardCharsets.ISO_8859_1),
            said -> said.length > 3 && said[0] == 0 && said[3] == 4);

    /** Whether this process has had an answer from an etcd server, so that all classes are loaded. */
    private static volatile boolean loaded;

    /** For {@link java.util.ServiceLoader}. */
    public EtcdLockProvider() {}

    @Override
    public Set<String> schemes() {
        return EtcdUri.SCHEMES;
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        EtcdUri address = EtcdUri.parse(uri);
        EtcdMode mode = address.mode();
        String prefix = address.parameter("prefix").orElse(EtcdLocks.DEFAULT_PREFIX);
        ClientBuilder builder = client(address, options);
        OwnClient client = OwnClient.open(builder);
        try {
            probe(client.jetcd(), address, prefix, options.requestTimeout(), loaded ? 0 : FIRST_REPEATS);
            FreshClient fresh =
                    new FreshClient(client, () -> OwnClient.open(builder), options.requestTimeout(), System::nanoTime);
            return EtcdLocks.builder(new EtcdConnection(fresh, fresh::close))
                    .options(options)
                    .prefix(prefix)
                    .mode(mode)
                    .build();
        } catch (RuntimeException | LinkageError e) {
            client.close();
            throw e;
        }
    }

    private static ClientBuilder client(EtcdUri address, LockClientOptions options) {
        String scheme = address.tls() ? "https://" : "http://";
        ClientBuilder builder = Client.builder();
        address.parameter("authority").ifPresent(builder::authority);
        builder.endpoints(
                address.endpoints().stream().map(endpoint -> scheme + endpoint).toArray(String[]::new));
        if (address.user() != null && address.password() != null) {
            EtcdCredentials credentials = new EtcdCredentials(address.user(), address.password());
            EtcdLocks.authenticated(builder, () -> credentials);
        }
        if (address.tls()) {
            secure(builder, address);
        }
        return EtcdLocks.dedicated(builder, options.requestTimeout());
    }

    private static void secure(ClientBuilder builder, EtcdUri address) {
        try {
            SslContextBuilder context = GrpcSslContexts.forClient();
            address.parameter("ca").ifPresent(file -> context.trustManager(new File(file)));
            address.parameter("cert")
                    .ifPresent(file -> context.keyManager(
                            new File(file), new File(address.parameter("key").orElseThrow())));
            builder.sslContext(context.build());
        } catch (SSLException | IllegalArgumentException e) {
            throw new LockConfigurationException(
                    address + ": TLS cannot be set up (" + e.getMessage() + "); check the PEM files ca, cert and key",
                    e);
        }
    }

    /**
     * Reads once, so that wrong credentials and unreachable servers are reported at connect. In a process without any
     * answer yet, a read that times out is repeated if the server accepts connections: loading gRPC and Netty takes
     * part of the first timeout, and on a busy machine all of it.
     */
    static void probe(Client client, EtcdUri address, String prefix, Duration timeout, int repeats) {
        ByteSequence key = EtcdKeys.bytes(prefix);
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        try (ConnectDiagnosis diagnosis =
                new ConnectDiagnosis(address.target(), PREFACE, EtcdFailures.TRANSLATOR, deadlineNanos)) {
            for (int left = repeats; ; left--) {
                try {
                    Answers.get(
                            EtcdCalls.guarded(() -> client.getKVClient().get(key, ONE_KEY)),
                            timeout.toMillis(),
                            TimeUnit.MILLISECONDS);
                    loaded = true;
                    return;
                } catch (ExecutionException | TimeoutException e) {
                    if (left == 0 || !EtcdFailures.isTimeout(e) || !diagnosis.isAnswering()) {
                        throw diagnosis.explain(e);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new LockUnavailableException("connecting to " + address + " was interrupted", e);
                }
            }
        }
    }
}
