package dev.holdfast.lock.redis;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisReadOnlyException;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Tells failures of the Redis client in the terms of the lock API. */
final class RedisFailures {

    private static final String CLUSTER_NODE =
            "the server is a cluster node; connect with redis-cluster:// or a RedisClusterClient";

    /** What Redis says when the user must mend something, and how. */
    private static final List<String[]> FINAL = List.of(
            new String[] {"WRONGPASS", "check the user name and the password"},
            new String[] {"NOAUTH", "the server asks for a password; put it into the URI or the client"},
            new String[] {"invalid password", "check the password"},
            new String[] {"without any password configured", "the server has no password; remove it from the URI"},
            new String[] {
                RedisScript.NO_TOKEN,
                "there is no greater token below 2^53; find out who wrote it, and delete the key once nothing relies on it"
            },
            new String[] {
                "'eval'",
                "the server does not know the library's scripts, and this user may not send them; an administrator loads"
                        + " RedisLocks.scripts(), see docs/redis.md"
            },
            new String[] {
                "NOPERM", "the user lacks a permission; docs/redis.md lists the commands, keys and channels needed"
            },
            new String[] {
                "can't access", "the user lacks a permission; docs/redis.md lists the keys and channels needed"
            },
            new String[] {"WRONGTYPE", "the key is used for something else; choose another prefix"},
            new String[] {
                "unknown command", "the server lacks or has renamed a command; docs/redis.md lists those needed"
            },
            new String[] {
                "Unknown Redis command", "the server lacks or has renamed a command; docs/redis.md lists those needed"
            },
            new String[] {"CROSSSLOT", CLUSTER_NODE},
            new String[] {"MOVED ", CLUSTER_NODE});

    private RedisFailures() {}

    /**
     * Translates a failure.
     *
     * @param what identity: which lock and operation, or which server
     * @param failure the client's failure, possibly wrapped
     * @return what the SPI asks for
     */
    static LockException translate(String what, Throwable failure) {
        Throwable cause = unwrap(failure);
        if (cause instanceof LockException known) {
            return known;
        }
        for (Throwable t = cause; t != null; t = t.getCause() == t ? null : t.getCause()) {
            String remedy = remedy(t);
            if (remedy != null) {
                return new LockConfigurationException(what + ": Redis refuses it: " + text(t) + "; " + remedy, cause);
            }
        }
        if (cause instanceof TimeoutException) {
            return new LockUnavailableException(
                    what + ": no answer from Redis in time; the outcome is unknown, try again", cause);
        }
        return new LockUnavailableException(
                what + ": no usable answer from Redis: " + text(cause) + "; the outcome is unknown, try again", cause);
    }

    /** Tells whether the server will say the same until the user has mended something. */
    static boolean isRefusal(Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause() == t ? null : t.getCause()) {
            if (remedy(t) != null) {
                return true;
            }
        }
        return false;
    }

    static boolean isReadOnly(Throwable failure) {
        Throwable cause = unwrap(failure);
        return cause instanceof RedisReadOnlyException
                || cause instanceof RedisCommandExecutionException
                        && text(cause).contains("READONLY");
    }

    /** Whether a cluster refused a command because its keys are in a slot that is moving. */
    static boolean isTryAgain(Throwable failure) {
        return unwrap(failure) instanceof RedisCommandExecutionException refused
                && text(refused).startsWith("TRYAGAIN");
    }

    static Throwable unwrap(Throwable failure) {
        Throwable cause = failure;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    private static @Nullable String remedy(Throwable failure) {
        String message = failure.getMessage();
        if (message == null) {
            return null;
        }
        if (failure instanceof javax.net.ssl.SSLException
                || failure instanceof java.security.cert.CertificateException) {
            return "check the server's certificate, its host name and the trust store";
        }
        if (failure instanceof RedisCommandExecutionException) {
            for (String[] known : FINAL) {
                if (message.contains(known[0])) {
                    return known[1];
                }
            }
        }
        return null;
    }

    private static String text(Throwable failure) {
        String message = failure.getMessage();
        return message == null ? failure.getClass().getSimpleName() : message;
    }
}
