package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import io.etcd.jetcd.common.exception.EtcdException;
import io.grpc.Status;
import java.security.cert.CertificateException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** Says in the lock's terms what a failed call means. */
final class EtcdFailures {

    private EtcdFailures() {}

    private static final String NO_SPACE = "database space exceeded";
    private static final String WRONG_PASSWORD = "authentication failed, invalid user ID or password";

    /**
     * Tells whether the server refused the request, so that it has no effect now or later. Otherwise nobody knows.
     */
    static boolean isRefusal(Throwable failure) {
        return switch (code(failure)) {
            case NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED -> true;
            case UNAUTHENTICATED -> !isUnreachable(failure);
            case RESOURCE_EXHAUSTED -> isOutOfSpace(failure);
            default -> isTokenRefused(failure);
        };
    }

    static boolean isLeaseGone(Throwable failure) {
        return code(failure) == Status.Code.NOT_FOUND;
    }

    /** Whether etcd does not accept the token any more: it expired, or users and roles have changed. Nothing was done. */
    static boolean isTokenRefused(Throwable failure) {
        String said = String.valueOf(unwrap(failure).getMessage());
        return switch (code(failure)) {
            case UNAUTHENTICATED, UNKNOWN, INVALID_ARGUMENT ->
                said.endsWith("etcdserver: invalid auth token")
                        || said.endsWith("etcdserver: revision of auth store is old");
            default -> false;
        };
    }

    /** Whether etcd does not know the user with that password, so that nothing was done; other credentials may help. */
    static boolean isLoginRefused(Throwable failure) {
        return code(failure) == Status.Code.UNAUTHENTICATED && !isUnreachable(failure)
                || String.valueOf(unwrap(failure).getMessage()).endsWith(WRONG_PASSWORD)
                || isTokenRefused(failure);
    }

    /** By its text: gRPC has the same code for messages that are too long. */
    private static boolean isOutOfSpace(Throwable failure) {
        return String.valueOf(unwrap(failure).getMessage()).endsWith(NO_SPACE);
    }

    static boolean isTimeout(Throwable failure) {
        return unwrap(failure) instanceof TimeoutException || code(failure) == Status.Code.DEADLINE_EXCEEDED;
    }

    /** Makes of any failure one that a backend may throw. */
    static RuntimeException translate(String what, Throwable failure) {
        Throwable cause = unwrap(failure);
        if (cause instanceof LockException known) {
            return known;
        }
        if (cause instanceof TimeoutException) {
            return new LockUnavailableException(
                    what + ": etcd did not answer in time; see whether the cluster has a leader and can be reached",
                    cause);
        }
        if (isUntrusted(cause)) {
            return new LockConfigurationException(
                    what + ": the TLS handshake failed; check the certificates that are trusted and the host's name in"
                            + " the server's certificate",
                    cause);
        }
        String said = cause.getMessage();
        return switch (code(cause)) {
            case PERMISSION_DENIED ->
                new LockConfigurationException(
                        what + ": etcd says '" + said + "'; grant the user read and write permission on the prefix",
                        cause);
            case RESOURCE_EXHAUSTED ->
                new LockUnavailableException(
                        what + ": etcd says '" + said + "'; "
                                + (isOutOfSpace(cause)
                                        ? "its database has reached the quota: compact, defragment, then disarm the alarm"
                                        : "see its limits for the size and number of requests"),
                        cause);
            case UNAUTHENTICATED, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED -> {
                if (isUnreachable(cause)) {
                    yield unavailable(what, said, cause);
                }
                yield new LockConfigurationException(
                        what + ": etcd says '" + said + "'; check user, password and the server's version", cause);
            }
            default -> unavailable(what, said, cause);
        };
    }

    private static boolean isUntrusted(Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof SSLHandshakeException || t instanceof CertificateException) {
                return true;
            }
        }
        return false;
    }

    private static LockUnavailableException unavailable(String what, @Nullable String said, Throwable cause) {
        return new LockUnavailableException(
                what + ": etcd is not available (" + said + "); see whether the cluster has a leader", cause);
    }

    /** jetcd reports every failed login as UNAUTHENTICATED, even if no server could be asked. */
    private static boolean isUnreachable(Throwable failure) {
        for (Throwable t = unwrap(failure).getCause(); t != null; t = t.getCause()) {
            Status.Code inner = ownCode(t);
            if (inner == Status.Code.UNAVAILABLE
                    || inner == Status.Code.DEADLINE_EXCEEDED
                    || inner == Status.Code.CANCELLED
                    || t instanceof java.io.IOException) {
                return true;
            }
        }
        return false;
    }

    private static Status.Code code(Throwable failure) {
        Throwable t = unwrap(failure);
        Status.Code own = ownCode(t);
        return own == null ? Status.fromThrowable(t).getCode() : own;
    }

    private static Status.@Nullable Code ownCode(Throwable t) {
        if (t instanceof EtcdException etcd) {
            return Status.Code.valueOf(etcd.getErrorCode().name());
        }
        if (t instanceof io.grpc.StatusRuntimeException status) {
            return status.getStatus().getCode();
        }
        return t instanceof io.grpc.StatusException status ? status.getStatus().getCode() : null;
    }

    static Throwable unwrap(Throwable failure) {
        Throwable t = failure;
        while ((t instanceof CompletionException || t instanceof ExecutionException) && t.getCause() != null) {
            t = t.getCause();
        }
        return t;
    }
}
