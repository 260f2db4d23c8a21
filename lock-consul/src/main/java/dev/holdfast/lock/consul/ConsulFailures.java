package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Remedy;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.CancellationException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** Classifies failures of Consul and of the HTTP client. */
final class ConsulFailures {
    private static final String TRY_AGAIN = "the outcome is unknown, try again";
    private static final int BAD_REQUEST = 400;
    private static final int UNAUTHORIZED = 401;

    static final FailureTranslator TRANSLATOR = new FailureTranslator("Consul", ConsulFailures::remedy);

    private ConsulFailures() {}

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
        return null;
    }

    private static Remedy remedy(ConsulException answer) {
        String said = answer.text();
        return switch (answer.status()) {
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
