package dev.holdfast.lock.consul.internal.http;

import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Remedy;
import java.io.EOFException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.CancellationException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** Classifies failures of Consul and of the HTTP client. */
public final class ConsulFailures {
    private static final String TRY_AGAIN = "the outcome is unknown, try again";
    private static final int BAD_REQUEST = 400;
    private static final int TOO_MANY_REQUESTS = 429;

    /** What a connection means that the agent closes without an answer, or refuses with status 429. */
    public static final String LIMIT =
            "above http_max_conns_per_client, by default 200 connections of all processes of a machine, an agent closes"
                    + " new ones: raise it, or run fewer lock clients there";

    private static final int UNAUTHORIZED = 401;

    public static final FailureTranslator TRANSLATOR = new FailureTranslator("Consul", ConsulFailures::remedy);

    private ConsulFailures() {}

    /** Whether the agent closed the connection without an answer. */
    public static boolean isClosed(Throwable failure) {
        for (Throwable cause : FailureTranslator.causes(failure)) {
            if (cause instanceof EOFException
                    || String.valueOf(cause.getMessage()).contains("received no bytes")
                    || cause instanceof SocketException && !(cause instanceof ConnectException)) {
                return true;
            }
        }
        return false;
    }

    private static @Nullable Remedy remedy(Throwable failure) {
        for (Throwable cause : FailureTranslator.causes(failure)) {
            if (cause instanceof ConsulException answer) {
                return remedy(answer);
            }
            if (cause instanceof UnresolvedAddressException) {
                return new Remedy.Unavailable("the agent's host has no address", "check the name, try again");
            }
            if (cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException) {
                return new Remedy.Unavailable(
                        "no connection to a Consul agent", "check that it runs at the address, try again");
            }
            if (cause instanceof HttpTimeoutException) {
                return new Remedy.Unavailable("no answer from Consul in time", TRY_AGAIN);
            }
            if (cause instanceof SSLHandshakeException
                    && !String.valueOf(cause.getMessage()).contains("terminated")) {
                return new Remedy.Configuration(
                        "no TLS connection to Consul: " + cause.getMessage(),
                        "check that the agent's certificate names its host and that ca is its issuer");
            }
            if (cause instanceof CancellationException) {
                return new Remedy.Unavailable("its client was closed meanwhile", TRY_AGAIN);
            }
        }
        if (isClosed(failure)) {
            return new Remedy.Unavailable("the agent closed the connection", TRY_AGAIN + "; " + LIMIT);
        }
        return null;
    }

    private static Remedy remedy(ConsulException answer) {
        String said = answer.text();
        return switch (answer.status()) {
            case TOO_MANY_REQUESTS ->
                new Remedy.Unavailable("the agent has too many connections", TRY_AGAIN + "; " + LIMIT);
            case UNAUTHORIZED, Reply.FORBIDDEN ->
                new Remedy.Configuration(
                        "Consul refuses it: " + said,
                        "give its token the rules key_prefix \"<prefix>\" and session_prefix \"\", both with policy write");
            case BAD_REQUEST ->
                said.contains("HTTPS server")
                        ? new Remedy.Configuration("the server speaks TLS", "write consuls://, or its port without TLS")
                        : new Remedy.Configuration("Consul refuses it: " + said, "check prefix and version");
            default -> {
                if (said.contains("Session TTL")) {
                    yield new Remedy.Configuration(
                            "Consul refuses it: " + said,
                            "use a longer lease, or lower session_ttl_min of the servers");
                }
                if (said.contains("Missing node registration")) {
                    yield new Remedy.Unavailable(
                            "the agent is not registered: " + said,
                            "try again if it has just started; otherwise name agents of the datacenter that dc names");
                }
                if (said.contains("No path to datacenter")) {
                    yield new Remedy.Configuration(
                            "the agent is not of the datacenter that dc names: " + said,
                            "name agents of that datacenter, or correct dc");
                }
                if (said.contains("No cluster leader") || said.contains("eadership")) {
                    yield new Remedy.Unavailable(
                            "Consul has no leader",
                            "the outcome is unknown, try again; check that a majority of the servers runs");
                }
                yield new Remedy.Unavailable("Consul answers " + answer.status() + ", " + said, TRY_AGAIN);
            }
        };
    }
}
