package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Remedy;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisReadOnlyException;
import java.security.cert.CertificateException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** What failures of the Redis client mean. */
public final class RedisFailures {

    private static final String CLUSTER_NODE =
            "the server is a cluster node; connect with redis-cluster:// or a RedisClusterClient";

    private static final String COMMANDS =
            "+evalsha +eval +pubsub +get +set +pexpire +pttl +time +zrange +zadd +zrem +zscore +zcard +hget +hset +hdel"
                    + " +publish +subscribe";

    private static final String RIGHTS = "run: ACL SETUSER <user> ~holdfast:{* &holdfast:c:* " + COMMANDS
            + " (holdfast stands for the client's prefix; a cluster needs also &holdfast:{* +cluster +info +ssubscribe"
            + " +sunsubscribe +spublish; replicas need +wait)";

    /** Refusals of Redis that the user must fix, and how. */
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
                "the server does not have the library's scripts, and this user may not send them; an administrator loads"
                        + " each of RedisLocks.scripts() with SCRIPT LOAD, or allows it; run: ACL SETUSER <user> +eval"
            },
            new String[] {"'scan'", "only listings need it; run: ACL SETUSER <user> +scan"},
            new String[] {"NOPERM", "the user lacks a permission; " + RIGHTS},
            new String[] {"can't run", "the user lacks a permission; " + RIGHTS},
            new String[] {"can't access", "the user lacks a permission; " + RIGHTS},
            new String[] {"ACL failure in script", "the user lacks a permission; " + RIGHTS},
            new String[] {"DB index is out of range", "the server has fewer databases; choose another number"},
            new String[] {"invalid DB index", "the server has fewer databases; choose another number"},
            new String[] {"cluster support disabled", "the server is not one of a cluster; write redis:// for it"},
            new String[] {"WRONGTYPE", "the key is used for something else; choose another prefix"},
            new String[] {"unknown command 'SENTINEL'", "the server is no Sentinel; write redis:// for it"},
            new String[] {"unknown command `SENTINEL`", "the server is no Sentinel; write redis:// for it"},
            new String[] {"unknown command", "the server lacks or has renamed a command; locks need " + COMMANDS},
            new String[] {"Unknown Redis command", "the server lacks or has renamed a command; locks need " + COMMANDS},
            new String[] {"CROSSSLOT", CLUSTER_NODE},
            new String[] {"MOVED ", CLUSTER_NODE});

    /** What Lettuce says of an end without a reason: the second, if it has taken the connection apart by the time that it looks. */
    private static final Set<String> UNTOLD =
            Set.of("Connection closed prematurely", "RedisHandshakeHandler not registered");

    /** Refusals of all keys alike. Before Redis 7, the code of a refusal inside a script is not the first word. */
    private static final List<String> OF_THE_SERVER = List.of(
            "OOM ",
            "LOADING ",
            "BUSY ",
            "READONLY ",
            "MISCONF ",
            "MASTERDOWN ",
            "NOREPLICAS ",
            "NOAUTH ",
            "CLUSTERDOWN ",
            "MOVED ",
            "max number of clients",
            "permissions to run",
            "can't run",
            "unknown command",
            "Unknown Redis command");

    private static final List<String> DENIED = List.of(
            "NOPERM", "permissions to run", "can't run", "can't access", "unknown command", "Unknown Redis command");

    /** Makes the exceptions of the lock API. */
    public static final FailureTranslator TRANSLATOR = new FailureTranslator("Redis", RedisFailures::remedy);

    private RedisFailures() {}

    private static @Nullable Remedy remedy(Throwable failure) {
        return all(failure)
                .map(RedisFailures::remedyOf)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    /** Its causes, and behind each those of what it has suppressed: of a cluster, one for each node. */
    private static Stream<Throwable> all(Throwable failure) {
        return FailureTranslator.causes(failure).stream()
                .flatMap(cause -> Stream.concat(
                        Stream.of(cause),
                        Arrays.stream(cause.getSuppressed()).flatMap(node -> FailureTranslator.causes(node).stream())));
    }

    private static @Nullable Remedy remedyOf(Throwable cause) {
        String said = String.valueOf(cause.getMessage());
        if (cause instanceof SSLException || cause instanceof CertificateException) {
            if (said.contains("timed out")) {
                return null;
            }
            return said.contains("not an SSL/TLS record")
                    ? new Remedy.Configuration("the server does not speak TLS", "write redis://, or its TLS port")
                    : new Remedy.Configuration(
                            "the TLS handshake failed: " + said,
                            "check the server's certificate, its host name and the authorities that are trusted; ?ca= names the file of a private one");
        }
        String remedy = refusal(cause);
        return remedy == null ? null : new Remedy.Configuration("Redis refuses it: " + said, remedy);
    }

    /** Returns whether the server refuses because of the user's rights, or for lack of a script or a command. */
    public static boolean isDenied(Throwable failure) {
        String refused = refused(failure);
        return DENIED.stream().anyMatch(refused::contains);
    }

    /** Returns whether the server repeats this refusal until the user has fixed something. */
    public static boolean isRefusal(Throwable failure) {
        return remedy(failure) != null;
    }

    /**
     * Whether a connection was closed while it was being opened, without a word of the reason. Lettuce closes one that the server
     * refuses, and may notice the end before it has reported the refusal (7.7, {@code RedisHandshakeHandler}).
     */
    static boolean isUntold(Throwable failure) {
        return all(failure).anyMatch(cause -> UNTOLD.contains(String.valueOf(cause.getMessage())));
    }

    static boolean isReadOnly(Throwable failure) {
        return FailureTranslator.unwrap(failure) instanceof RedisReadOnlyException
                || refused(failure).contains("READONLY");
    }

    /** Whether a cluster refused a command because its keys are in a slot that is moving. */
    public static boolean isTryAgain(Throwable failure) {
        return refused(failure).startsWith("TRYAGAIN");
    }

    /**
     * Whether a server refused a command in a state that has nothing to do with the command's keys. A refusal of any other kind
     * may be about one of them: its type, its slot, or the user's rights.
     */
    public static boolean isAnyKeyRefused(Throwable failure) {
        String refused = refused(failure);
        return refused.isEmpty() || OF_THE_SERVER.stream().anyMatch(refused::contains);
    }

    /** Whether a cluster refused a command because its keys are at another server by now. */
    static boolean isMoved(Throwable failure) {
        return refused(failure).startsWith("MOVED ");
    }

    /** Whether the server does not have the script, after a restart or SCRIPT FLUSH. */
    public static boolean isUnknownScript(Throwable failure) {
        return FailureTranslator.unwrap(failure) instanceof RedisNoScriptException;
    }

    /** What the server answered instead of a result, or an empty text. */
    private static String refused(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return cause instanceof RedisCommandExecutionException ? String.valueOf(cause.getMessage()) : "";
    }

    private static @Nullable String refusal(Throwable failure) {
        String message = failure.getMessage();
        if (message == null) {
            return null;
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
}
