package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Remedy;
import io.etcd.jetcd.common.exception.EtcdException;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** Classifies and translates jetcd's failures. */
public final class EtcdFailures {

    /** Creates the exceptions of the lock API. */
    public static final FailureTranslator TRANSLATOR = new FailureTranslator("etcd", EtcdFailures::remedy);

    private static final String NO_SPACE = "database space exceeded";
    private static final String WRONG_PASSWORD = "authentication failed, invalid user ID or password";

    private EtcdFailures() {}

    /** Whether the server refused the request, so that it has no effect now or later. False if that is unknown. */
    public static boolean isRefusal(Throwable failure) {
        return switch (code(failure)) {
            case NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED -> true;
            case UNAUTHENTICATED -> !isUnreachable(failure);
            case RESOURCE_EXHAUSTED -> isOutOfSpace(failure);
            default -> isTokenRefused(failure);
        };
    }

    public static boolean isLeaseGone(Throwable failure) {
        return code(failure) == Status.Code.NOT_FOUND;
    }

    /**
     * Whether etcd refused the token, because it expired or users and roles have changed. The request had no effect.
     */
    public static boolean isTokenRefused(Throwable failure) {
        String said = said(failure);
        return switch (code(failure)) {
            case UNAUTHENTICATED, UNKNOWN, INVALID_ARGUMENT ->
                said.endsWith("etcdserver: invalid auth token")
                        || said.endsWith("etcdserver: revision of auth store is old");
            default -> false;
        };
    }

    /** Whether etcd refused the user or the password, so that the request had no effect; other credentials may work. */
    public static boolean isLoginRefused(Throwable failure) {
        return code(failure) == Status.Code.UNAUTHENTICATED && !isUnreachable(failure)
                || said(failure).endsWith(WRONG_PASSWORD)
                || isTokenRefused(failure);
    }

    /** Compares the text, because gRPC uses the same code for messages that are too long. */
    private static boolean isOutOfSpace(Throwable failure) {
        return said(failure).endsWith(NO_SPACE);
    }

    private static String said(Throwable failure) {
        return String.valueOf(FailureTranslator.unwrap(failure).getMessage());
    }

    public static boolean isTimeout(Throwable failure) {
        return FailureTranslator.unwrap(failure) instanceof TimeoutException
                || code(failure) == Status.Code.DEADLINE_EXCEEDED;
    }

    private static Remedy remedy(Throwable cause) {
        if (cause instanceof TimeoutException) {
            return new Remedy.Unavailable(
                    "etcd did not answer in time", "check that the cluster has a leader and can be reached");
        }
        if (isClosed(cause)) {
            return new Remedy.PassThrough(new LockClosedException(
                    "the etcd client was closed before the lock client; close the lock client first", cause));
        }
        if (isUntrusted(cause)) {
            return new Remedy.Configuration(
                    "the TLS handshake failed",
                    "check the certificates that are trusted and the host's name in the server's certificate");
        }
        String said = "etcd reports '" + cause.getMessage() + "'";
        return switch (code(cause)) {
            case PERMISSION_DENIED ->
                new Remedy.Configuration(said, "grant the user read and write permission on the prefix");
            case RESOURCE_EXHAUSTED ->
                new Remedy.Unavailable(
                        said,
                        isOutOfSpace(cause)
                                ? "its database has reached the quota: compact, defragment, then disarm the alarm"
                                : "see its limits for the size and number of requests");
            case UNAUTHENTICATED, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED ->
                isUnreachable(cause)
                        ? unavailable(cause)
                        : new Remedy.Configuration(said, "check user, password and the server's version");
            default -> unavailable(cause);
        };
    }

    private static Remedy unavailable(Throwable cause) {
        return new Remedy.Unavailable(
                "etcd is not available (" + cause.getMessage() + ")", "check that the cluster has a leader");
    }

    /** Whether the client is closed: jetcd's executor or gRPC's channel rejects new calls. */
    private static boolean isClosed(Throwable failure) {
        return FailureTranslator.causes(failure).stream()
                .anyMatch(t -> t instanceof RejectedExecutionException && !isNettys(t)
                        || String.valueOf(t.getMessage()).contains("Channel shutdown"));
    }

    /** Whether the thread of the connection has ended: at an Error, as in a full heap. */
    static boolean isOfEndedThread(Throwable failure) {
        return FailureTranslator.causes(failure).stream()
                .anyMatch(t -> t instanceof RejectedExecutionException && isNettys(t)
                        || String.valueOf(t.getMessage()).contains("Panic! This is a bug!"));
    }

    private static boolean isNettys(Throwable rejection) {
        return "event executor terminated".equals(rejection.getMessage());
    }

    private static boolean isUntrusted(Throwable failure) {
        return FailureTranslator.causes(failure).stream()
                .anyMatch(t -> t instanceof SSLHandshakeException || t instanceof CertificateException);
    }

    /** jetcd reports every failed login as UNAUTHENTICATED, even if it reached no server. */
    private static boolean isUnreachable(Throwable failure) {
        return FailureTranslator.causes(failure).stream().skip(1).anyMatch(t -> {
            Status.Code inner = ownCode(t);
            return inner == Status.Code.UNAVAILABLE
                    || inner == Status.Code.DEADLINE_EXCEEDED
                    || inner == Status.Code.CANCELLED
                    || t instanceof IOException;
        });
    }

    private static Status.Code code(Throwable failure) {
        Throwable t = FailureTranslator.unwrap(failure);
        Status.Code own = ownCode(t);
        return own == null ? Status.fromThrowable(t).getCode() : own;
    }

    private static Status.@Nullable Code ownCode(Throwable t) {
        if (t instanceof EtcdException etcd) {
            return Status.Code.valueOf(etcd.getErrorCode().name());
        }
        if (t instanceof StatusRuntimeException status) {
            return status.getStatus().getCode();
        }
        return t instanceof StatusException status ? status.getStatus().getCode() : null;
    }
}
