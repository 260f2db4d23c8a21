package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How often a lease's renewal is sent while nobody answers: without a server. */
final class KeepAliveTest {
    private final MadeUpWatch etcd = new MadeUpWatch();

    @AfterEach
    void close() {
        etcd.close();
    }

    /** As when the connection is refused: a failure plans the next one, and so did the sending. Only one of them sends. */
    @Test
    void everyOneFailsAtOnce_eachIsFollowedByOne() {
        SharedLease lease = new SharedLease(7, 60, SentAt.now(), 0);
        CompletableFuture<Void> renewal = KeepAlive.send(etcd.calls(), lease, 600_000);
        int rounds = 20;

        for (int i = 0; i < rounds; i++) {
            etcd.runPlanned();
        }

        assertThat(renewal).isNotDone();
        assertThat(etcd.requests.get()).as("renewals sent").isEqualTo(1 + rounds);
        assertThat(etcd.planned()).isLessThanOrEqualTo(3);
    }
}
