package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.MemcacheClosedException;
import com.spotify.folsom.MemcacheOverloadedException;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Remedy;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Classifies failures of the memcached client. */
final class MemcachedFailures {
    private MemcachedFailures() {}

    /**
     * Creates a translator to the exceptions of the lock API.
     *
     * @param server the address, for messages
     * @param link the state of the connection
     */
    static FailureTranslator of(String server, Link link) {
        return new FailureTranslator(server, failure -> remedy(failure, server, link));
    }

    private static @Nullable Remedy remedy(Throwable failure, String server, Link link) {
        for (Throwable cause : FailureTranslator.causes(failure)) {
            if (cause instanceof MemcacheAuthenticationException || link.refused()) {
                return new Remedy.Configuration(
                        server + " refuses the login",
                        "give user and password as its file of -Y has them, and open a new client");
            }
            if (cause instanceof MemcacheOverloadedException) {
                return new Remedy.Unavailable(
                        "too many requests wait for " + server, "check that it answers, and try again");
            }
            if (cause instanceof MemcacheClosedException
                    && String.valueOf(cause.getMessage()).startsWith("Shutdown")) {
                return new Remedy.PassThrough(new LockClosedException(
                        "the memcached client was closed before the lock client; close the lock client first", cause));
            }
            if (cause instanceof MemcacheClosedException || cause instanceof IOException) {
                return closed(link.lastFailure(), cause, server);
            }
        }
        return null;
    }

    private static Remedy closed(@Nullable Throwable last, Throwable cause, String server) {
        String said = last == null || last == cause
                ? String.valueOf(cause.getMessage())
                : last.getMessage() + ", " + cause.getMessage();
        if (said.contains("PKIX") || said.contains("certificate") || said.contains("subject alternative")) {
            return new Remedy.Configuration(
                    server + " cannot be trusted: " + cause.getMessage(),
                    "check its certificate, its host name and the trust store");
        }
        return new Remedy.Unavailable(
                "no connection to " + server + " (" + said + ")",
                "check that memcached runs there and can be reached, and try again");
    }
}
