package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A store that refuses immediately while many callers wait: the answers are handled in sequence, not recursively. */
class RefusalTest {

    @Test
    void refusal_ofThousandsOfWaiters_isToldToAll_andTheNameLives() {
        Virtual virtual =
                new Virtual(LockClientOptions.builder().handOffLimit(0).build());
        Hold held = virtual.hold("n", LockOptions.defaults());
        List<CompletableFuture<Lease>> waits = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            waits.add(virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER).future);
        }
        virtual.end(held);
        virtual.pass(Virtual.SECOND);
        assertThat(waits.get(0)).isCompleted();

        virtual.backend.failure = OutageBackend::noPermission;
        waits.get(0).join().close();
        virtual.pass(Virtual.SECOND);
        assertThat(waits.subList(1, waits.size())).allMatch(CompletableFuture::isCompletedExceptionally);

        virtual.backend.failure = null;
        virtual.pass(60 * Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isTrue();
        assertThat(virtual.hold("n", LockOptions.defaults()).state).isEqualTo(Hold.State.HELD);
    }
}
