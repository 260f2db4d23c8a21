package dev.holdfast.lock.consul;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.http.ConsulFailures;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.OwnHttpClient;
import dev.holdfast.lock.consul.internal.http.PemFiles;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.consul.internal.session.Transaction;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.Greeting;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Connects to {@code consul://[:token@]host[:port][,host[:port]…][/prefix]} and, with TLS, {@code consuls://…}: to one
 * agent, or to several agents of one cluster. If an agent does not answer, requests go to the next one.
 *
 * <p>The path is the start of all keys, by default {@code holdfast/}. Parameters: {@code lock-delay} (as {@code 15s} or
 * {@code 0s}; see {@link ConsulLocks.Builder#lockDelay}), {@code session-ttl-min} (see {@link
 * ConsulLocks.Builder#sessionTtlMin}), {@code dc} (see {@link ConsulLocks.Builder#datacenter}), and with TLS {@code ca} (a PEM file with the certificates to trust instead of
 * the platform's), {@code cert} and {@code key} (PEM files with this client's own certificate and PKCS#8 key).
 */
public final class ConsulLockProvider implements LockProvider {
    static final Set<String> SCHEMES = Set.of("consul", "consuls");

    /** Needs no token. */
    private static final Greeting LEADER = new Greeting(
            "Consul",
            "GET /v1/status/leader HTTP/1.1\r\nHost: consul\r\nConnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII),
            said -> new String(said, StandardCharsets.US_ASCII).startsWith("HTTP/1."));

    /** For {@link java.util.ServiceLoader}. */
    public ConsulLockProvider() {}

    @Override
    public Set<String> schemes() {
        return SCHEMES;
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        ConsulUri address = ConsulUri.parse(uri);
        String prefix = address.prefix();
        Optional<Duration> lockDelay = address.time("lock-delay");
        Optional<Duration> sessionTtlMin = address.time("session-ttl-min");
        OwnHttpClient own = new OwnHttpClient(options.requestTimeout(), tls(address));
        String token = address.token();
        ConsulConnection connection = own.to(
                address.agents(),
                token == null ? null : () -> token,
                address.parameter("dc").orElse(null));
        try {
            ConsulLocks.Builder builder =
                    ConsulLocks.builder(connection).options(options).prefix(prefix);
            lockDelay.ifPresent(builder::lockDelay);
            sessionTtlMin.ifPresent(builder::sessionTtlMin);
            probe(connection, address, prefix, options.requestTimeout().toMillis());
            return builder.build();
        } catch (RuntimeException | LinkageError e) {
            own.close();
            throw e;
        }
    }

    private static @Nullable SSLContext tls(ConsulUri address) {
        try {
            return PemFiles.context(
                    address.parameter("ca").map(Path::of).orElse(null),
                    address.parameter("cert").map(Path::of).orElse(null),
                    address.parameter("key").map(Path::of).orElse(null));
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw new LockConfigurationException(
                    address + ": TLS cannot be set up (" + e.getMessage() + "); check the PEM files ca, cert and key",
                    e);
        }
    }

    /** Names the limit of connections where the agent closes one at once. */
    private static RuntimeException explained(RuntimeException explanation, Exception failure) {
        return explanation instanceof LockUnavailableException && ConsulFailures.isClosed(failure)
                ? new LockUnavailableException(
                        explanation.getMessage() + "; " + ConsulFailures.LIMIT, explanation.getCause())
                : explanation;
    }

    /** Reads one key, so that a wrong token or an unreachable agent is reported now. All agents share the time. */
    private static void probe(ConsulConnection connection, ConsulUri address, String prefix, long timeoutMillis) {
        ConsulKeys keys = new ConsulKeys(prefix);
        SessionPool requests = new SessionPool(new ConsulHttp(connection), keys, null);
        Transaction read = new Transaction().checkIndex(keys.epoch("probe"), 0);
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        try (ConnectDiagnosis diagnosis =
                new ConnectDiagnosis(address.target(), LEADER, ConsulFailures.TRANSLATOR, deadlineNanos)) {
            for (int left = connection.agents().size(); ; left--) {
                long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime()) / left);
                try {
                    Answers.get(requests.transact(read, true, Deadline.in(millis)), millis, TimeUnit.MILLISECONDS);
                    return;
                } catch (ExecutionException | TimeoutException e) {
                    boolean lasting = ConsulFailures.TRANSLATOR.translate("", e) instanceof LockConfigurationException;
                    if (lasting || left == 1) {
                        throw explained(diagnosis.explain(e), e);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new LockUnavailableException("connecting to " + address + " was interrupted", e);
                }
            }
        }
    }
}
