package dev.holdfast.lock.zookeeper.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The turns of an acquisition's requests. No server. */
class ZooKeeperAcquisitionTest {
    private static final long LATER_NANOS = Duration.ofMinutes(1).toNanos();

    private final ZooKeeperAcquisition node = ZooKeeperAcquisition.of(BackendDriver.newAcquisition("turns"));

    @Test
    void resultThatIsLost_isGivenUp_andTheNextRequestsRun() {
        CompletableFuture<String> lost = node.inTurn(CompletableFuture::new);
        CompletableFuture<String> next = node.inTurn(CompletableFuture::new);
        int turn = node.turn();

        node.giveUpLost(System.nanoTime());
        assertThat(lost).isNotDone();

        node.giveUpLost(System.nanoTime() + LATER_NANOS);
        assertThatThrownBy(lost::join).hasCauseInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(next::join).hasCauseInstanceOf(LockUnavailableException.class);
        assertThat(node.turn())
                .as("so that the lost ones create nothing any more")
                .isGreaterThan(turn);

        assertThat(node.inTurn(() -> CompletableFuture.completedFuture("ran"))).isCompletedWithValue("ran");
    }

    @Test
    void resultThatCame_isNotGivenUp() {
        CompletableFuture<String> before = node.inTurn(() -> CompletableFuture.completedFuture("ran"));
        node.giveUpLost(System.nanoTime() + LATER_NANOS);
        assertThat(before).isCompletedWithValue("ran");
    }
}
