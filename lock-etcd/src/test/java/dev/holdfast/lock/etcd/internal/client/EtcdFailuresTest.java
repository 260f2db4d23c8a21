package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

final class EtcdFailuresTest {
    private static final String FULL = "etcdserver: mvcc: database space exceeded";

    @Test
    void translate_databaseFull_tellsWhatToDo() {
        var failure = Status.RESOURCE_EXHAUSTED.withDescription(FULL).asRuntimeException();

        assertThat(EtcdFailures.TRANSLATOR.translate("", failure))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(FULL)
                .hasMessageContaining("quota")
                .hasMessageContaining("defragment")
                .hasMessageNotContaining("leader");
        assertThat(EtcdFailures.isRefusal(failure)).isTrue();
    }

    /** gRPC uses the same code for a reply that is too long to be read; then the outcome is unknown. */
    @Test
    void isRefusal_replyTooLong_isUnknown() {
        var failure = Status.RESOURCE_EXHAUSTED
                .withDescription("gRPC message exceeds maximum size 4194304: 5000000")
                .asRuntimeException();

        assertThat(EtcdFailures.isRefusal(failure)).isFalse();
        assertThat(EtcdFailures.TRANSLATOR.translate("", failure)).hasMessageNotContaining("leader");
    }

    @Test
    void isTokenRefused_isNoOtherRefusal() {
        assertThat(EtcdFailures.isTokenRefused(Status.UNAUTHENTICATED
                        .withDescription("etcdserver: invalid auth token")
                        .asRuntimeException()))
                .isTrue();
        assertThat(EtcdFailures.isTokenRefused(Status.INVALID_ARGUMENT
                        .withDescription("etcdserver: revision of auth store is old")
                        .asRuntimeException()))
                .isTrue();
        assertThat(EtcdFailures.isTokenRefused(Status.INVALID_ARGUMENT
                        .withDescription("etcdserver: authentication failed, invalid user ID or password")
                        .asRuntimeException()))
                .isFalse();
    }

    private static RuntimeException told(Throwable failure) {
        return EtcdFailures.TRANSLATOR.translate("", new CompletionException(failure));
    }

    private static StatusRuntimeException status(Status status, String said) {
        return status.withDescription(said).asRuntimeException();
    }

    private static StatusRuntimeException causedBy(Status status, Throwable cause) {
        return status.withDescription("said").withCause(cause).asRuntimeException();
    }

    @Test
    void isRefusal_isWhatChangedNothing() {
        for (Status status : List.of(
                Status.NOT_FOUND,
                Status.PERMISSION_DENIED,
                Status.INVALID_ARGUMENT,
                Status.FAILED_PRECONDITION,
                Status.UNIMPLEMENTED,
                Status.UNAUTHENTICATED)) {
            assertThat(EtcdFailures.isRefusal(status.asRuntimeException()))
                    .as("%s", status)
                    .isTrue();
            assertThat(EtcdFailures.isRefusal(new CompletionException(status.asException())))
                    .as("%s", status)
                    .isTrue();
        }
        for (Throwable unknown : List.of(
                Status.UNAVAILABLE.asRuntimeException(),
                Status.UNKNOWN.asRuntimeException(),
                causedBy(Status.UNAUTHENTICATED, Status.UNAVAILABLE.asRuntimeException()),
                causedBy(Status.UNAUTHENTICATED, new IOException()),
                new IllegalStateException())) {
            assertThat(EtcdFailures.isRefusal(unknown)).as("%s", unknown).isFalse();
        }
        assertThat(EtcdFailures.isRefusal(status(Status.UNKNOWN, "etcdserver: invalid auth token")))
                .isTrue();
    }

    @Test
    void kinds_areDistinguished() {
        assertThat(EtcdFailures.isLeaseGone(new CompletionException(Status.NOT_FOUND.asRuntimeException())))
                .isTrue();
        assertThat(EtcdFailures.isLeaseGone(Status.UNKNOWN.asRuntimeException()))
                .isFalse();
        assertThat(EtcdFailures.isTimeout(new CompletionException(new TimeoutException())))
                .isTrue();
        assertThat(EtcdFailures.isTimeout(Status.DEADLINE_EXCEEDED.asRuntimeException()))
                .isTrue();
        assertThat(EtcdFailures.isTimeout(Status.UNAVAILABLE.asRuntimeException()))
                .isFalse();
        assertThat(EtcdFailures.isTokenRefused(status(Status.UNAVAILABLE, "etcdserver: invalid auth token")))
                .isFalse();
    }

    @Test
    void isLoginRefused_isWhatAnotherPasswordHelps() {
        assertThat(EtcdFailures.isLoginRefused(Status.UNAUTHENTICATED.asRuntimeException()))
                .isTrue();
        assertThat(EtcdFailures.isLoginRefused(status(
                        Status.INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password")))
                .isTrue();
        assertThat(EtcdFailures.isLoginRefused(status(Status.UNKNOWN, "etcdserver: invalid auth token")))
                .isTrue();
        for (Status inner : List.of(Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED, Status.CANCELLED)) {
            assertThat(EtcdFailures.isLoginRefused(causedBy(Status.UNAUTHENTICATED, inner.asException())))
                    .as("%s", inner)
                    .isFalse();
        }
        assertThat(EtcdFailures.isLoginRefused(causedBy(Status.UNAUTHENTICATED, Status.NOT_FOUND.asException())))
                .isTrue();
        assertThat(EtcdFailures.isLoginRefused(Status.UNAVAILABLE.asRuntimeException()))
                .isFalse();
    }

    @Test
    void translate_saysWhatToDo() {
        assertThat(told(new TimeoutException()))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("etcd did not answer in time; check that the cluster has a leader and can be reached");
        for (Throwable closed :
                List.of(new RejectedExecutionException(), new IllegalStateException("Channel shutdown"))) {
            assertThat(told(new IOException(closed))).isInstanceOf(LockClosedException.class);
        }
        for (Throwable untrusted : List.of(new SSLHandshakeException("x"), new CertificateException("x"))) {
            assertThat(told(causedBy(Status.UNAVAILABLE, untrusted)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("the TLS handshake failed; check the certificates");
        }
        assertThat(told(status(Status.PERMISSION_DENIED, "no")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("no'; grant the user read and write permission");
        assertThat(told(status(Status.INVALID_ARGUMENT, "no")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("check user, password");
        assertThat(told(causedBy(Status.FAILED_PRECONDITION, new IOException())))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("etcd is not available (");
        assertThat(told(status(Status.UNAVAILABLE, "no")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("check that the cluster has a leader");
    }

    private static Throwable jetcds(ErrorCode code, Throwable cause) {
        return EtcdExceptionFactory.newEtcdException(code, "said", cause);
    }

    /** jetcd wraps some failures, and not others. */
    @Test
    void exceptionsOfJetcd_areThoseOfTheirCode() {
        Throwable none = new IllegalStateException();
        assertThat(EtcdFailures.isLeaseGone(jetcds(ErrorCode.NOT_FOUND, none))).isTrue();
        assertThat(EtcdFailures.isTimeout(jetcds(ErrorCode.DEADLINE_EXCEEDED, none)))
                .isTrue();
        assertThat(EtcdFailures.isRefusal(jetcds(ErrorCode.PERMISSION_DENIED, none)))
                .isTrue();
        assertThat(EtcdFailures.isRefusal(jetcds(ErrorCode.UNAVAILABLE, none))).isFalse();
        assertThat(EtcdFailures.isLoginRefused(jetcds(ErrorCode.UNAUTHENTICATED, none)))
                .isTrue();
        assertThat(EtcdFailures.isLoginRefused(jetcds(ErrorCode.UNAUTHENTICATED, jetcds(ErrorCode.UNAVAILABLE, none))))
                .isFalse();
        assertThat(told(jetcds(ErrorCode.PERMISSION_DENIED, none)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("etcd reports 'said'; grant");
    }

    /** What no retry helps, what one may help, and what to look at. */
    @Test
    void translate_saysOfEachCode_whetherToTryAgain() {
        for (Status lasting : List.of(
                Status.UNAUTHENTICATED, Status.INVALID_ARGUMENT, Status.FAILED_PRECONDITION, Status.UNIMPLEMENTED)) {
            assertThat(told(status(lasting, "no")))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage("etcd reports '" + lasting.getCode()
                            + ": no'; check user, password and the server's version");
            assertThat(told(causedBy(lasting, Status.UNAVAILABLE.asRuntimeException())))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageStartingWith("etcd is not available (");
        }
        for (Status passing : List.of(Status.UNAVAILABLE, Status.NOT_FOUND, Status.UNKNOWN, Status.DEADLINE_EXCEEDED)) {
            assertThat(told(status(passing, "no")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("etcd is not available (" + passing.getCode()
                            + ": no); check that the cluster has a leader");
        }
        assertThat(told(status(Status.RESOURCE_EXHAUSTED, "too many")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage(
                        "etcd reports 'RESOURCE_EXHAUSTED: too many'; see its limits for the size and number of requests");
        assertThat(told(new RejectedExecutionException()))
                .hasMessage("the etcd client was closed before the lock client; close the lock client first");
    }

    /** Netty's rejection looks like that of a closed client, but the next connection works. */
    @Test
    void endedThread_isNoClosedClient() {
        Throwable ended = new RejectedExecutionException("event executor terminated");

        assertThat(told(new IOException(ended))).isInstanceOf(LockUnavailableException.class);
        assertThat(EtcdFailures.isOfEndedThread(new IOException(ended))).isTrue();
        assertThat(EtcdFailures.isOfEndedThread(status(Status.INTERNAL, "Panic! This is a bug!")))
                .isTrue();
        for (Throwable other : List.of(
                new RejectedExecutionException("terminated"), status(Status.INTERNAL, "no"), new IOException())) {
            assertThat(EtcdFailures.isOfEndedThread(other)).isFalse();
        }
    }

    /** As an inner exception says it, and so may a proxy, with more behind it. */
    @Test
    void tokenRefused_isWhatEndsSo_andNotWhatMentionsIt() {
        assertThat(EtcdFailures.isTokenRefused(status(Status.UNKNOWN, "etcdserver: invalid auth token, says a proxy")))
                .isFalse();
        assertThat(EtcdFailures.isRefusal(status(Status.UNKNOWN, "etcdserver: revision of auth store is old")))
                .isTrue();
        assertThat(EtcdFailures.isRefusal(Status.RESOURCE_EXHAUSTED.asRuntimeException()))
                .isFalse();
    }
}
