package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Remedy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;

/** Classifies failures of ZooKeeper's client: retry, or change the configuration. */
final class ZooKeeperFailures {

    static final FailureTranslator TRANSLATOR = new FailureTranslator("ZooKeeper", ZooKeeperFailures::remedy);

    private ZooKeeperFailures() {}

    static boolean is(Throwable failure, Code code) {
        return FailureTranslator.unwrap(failure) instanceof KeeperException refusal && refusal.code() == code;
    }

    /** Whether the session has ended, so that its nodes end soon. */
    static boolean isSessionEnd(Throwable failure) {
        return is(failure, Code.SESSIONEXPIRED);
    }

    /** Whether the servers refused the request permanently: it was not executed and must not be repeated. */
    static boolean isFinal(Throwable failure) {
        return FailureTranslator.unwrap(failure) instanceof KeeperException refusal
                && !remedy(refusal.code()).isEmpty();
    }

    /** Translates the failure of a request; {@code doing} completes the sentence "ZooKeeper failed to". */
    static <T> CompletableFuture<T> translate(String doing, CompletionStage<T> stage) {
        return TRANSLATOR.translate("ZooKeeper failed to " + doing, stage);
    }

    private static Remedy remedy(Throwable cause) {
        if (cause instanceof KeeperException refusal) {
            String remedy = remedy(refusal.code());
            if (!remedy.isEmpty()) {
                return new Remedy.Configuration(describe(cause), remedy);
            }
        }
        if (cause instanceof IllegalStateException || cause instanceof IllegalArgumentException) {
            return new Remedy.Configuration(
                    describe(cause), "start the CuratorFramework before using it and close it after the LockClient");
        }
        return new Remedy.Unavailable(describe(cause), "the outcome is unknown, try again when the ensemble answers");
    }

    private static String describe(Throwable cause) {
        return cause instanceof KeeperException refusal
                ? refusal.code() + " at " + refusal.getPath()
                : String.valueOf(cause.getMessage());
    }

    private static String remedy(Code code) {
        return switch (code) {
            case NOAUTH, INVALIDACL, AUTHFAILED, SESSIONCLOSEDREQUIRESASLAUTH ->
                "give this client's identity the permissions create, read and delete, for semaphores write too, on the base path"
                        + " and what is below";
            case UNIMPLEMENTED -> "container nodes need servers of ZooKeeper 3.5.3 or newer";
            case QUOTAEXCEEDED -> "raise the quota of the base path";
            case NOCHILDRENFOREPHEMERALS -> "the base path must not go through an ephemeral node; choose another";
            case BADARGUMENTS, MARSHALLINGERROR, APIERROR -> "the servers are not compatible with this client";
            default -> "";
        };
    }
}
