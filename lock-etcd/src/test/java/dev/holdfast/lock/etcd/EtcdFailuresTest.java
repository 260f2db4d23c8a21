package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockUnavailableException;
import io.grpc.Status;
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

    /** gRPC has the same code for a reply that is too long to be read: then nobody knows what was done. */
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
}
