package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import java.util.concurrent.CompletionException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;

/** What a refusal by ZooKeeper means: try again, or mend something. */
final class ZooKeeperFailures {

    private ZooKeeperFailures() {}

    static Throwable unwrap(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    static boolean is(Throwable failure, Code code) {
        return unwrap(failure) instanceof KeeperException refusal && refusal.code() == code;
    }

    /** Whether the session is over, so that none of its nodes is left for long. */
    static boolean isSessionEnd(Throwable failure) {
        return is(failure, Code.SESSIONEXPIRED);
    }

    /** Whether the servers refused the request for good, so that it was not carried out and need not be repeated. */
    static boolean isFinal(Throwable failure) {
        return unwrap(failure) instanceof KeeperException refusal
                && !remedy(refusal.code()).isEmpty();
    }

    /** The engine's exception for it; one that already is comes back as it is. */
    static LockException translate(String name, String doing, Throwable failure) {
        Throwable cause = unwrap(failure);
        if (cause instanceof LockException known) {
            return known;
        }
        String observed = "lock '" + name + "': ZooKeeper failed to " + doing + ": " + describe(cause);
        if (cause instanceof KeeperException refusal) {
            String remedy = remedy(refusal.code());
            if (!remedy.isEmpty()) {
                return new LockConfigurationException(observed + "; " + remedy, cause);
            }
        }
        if (cause instanceof IllegalStateException || cause instanceof IllegalArgumentException) {
            return new LockConfigurationException(
                    observed + "; start the CuratorFramework before it is used and close it after the LockClient",
                    cause);
        }
        return new LockUnavailableException(
                observed + "; the outcome is unknown, try again when the ensemble answers", cause);
    }

    private static String describe(Throwable cause) {
        return cause instanceof KeeperException refusal
                ? refusal.code() + " at " + refusal.getPath()
                : String.valueOf(cause.getMessage());
    }

    private static String remedy(Code code) {
        return switch (code) {
            case NOAUTH, INVALIDACL, AUTHFAILED, SESSIONCLOSEDREQUIRESASLAUTH ->
                "give this client's identity the permissions create, read and delete on the base path and what is below";
            case UNIMPLEMENTED -> "container nodes need servers of ZooKeeper 3.5.3 or newer";
            case QUOTAEXCEEDED -> "raise the quota of the base path";
            case NOCHILDRENFOREPHEMERALS -> "the base path must not go through an ephemeral node; choose another";
            case BADARGUMENTS, MARSHALLINGERROR, APIERROR -> "the servers are not compatible with this client";
            default -> "";
        };
    }
}
