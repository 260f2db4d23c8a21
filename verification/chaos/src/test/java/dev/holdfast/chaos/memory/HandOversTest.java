package dev.holdfast.chaos.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A store that makes waiters the holders, as the mutants' runs have it. */
class HandOversTest {
    private static final String NAME = "handed";
    private static final long HANDED_MILLIS = 250;
    private static final long LEASE_MILLIS = 5_000;
    private static final long TIMEOUT_MILLIS = 60_000;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final AtomicLong clock = new AtomicLong();
    private final MemoryStore store = MemoryStore.create(clock::get);
    private final LockBackend backend = store.newBackend();
    private final List<OwnerId> called = new CopyOnWriteArrayList<>();
    private final List<Grant> handed = new CopyOnWriteArrayList<>();
    private final HandOvers handOvers =
            new HandOvers(backend, HANDED_MILLIS, called::add, (owner, round, grant) -> handed.add(grant));

    private static AcquireRequest request(AcquisitionId acquisition) {
        return new AcquireRequest(
                acquisition, LEASE_MILLIS, TIMEOUT_MILLIS, false, null, TIMEOUT_MILLIS, Identity.ofThisProcess("test"));
    }

    private static AcquisitionId acquisition() {
        return new AcquisitionId(NAME, OwnerId.random());
    }

    private static AcquireResult now(CompletionStage<AcquireResult> answer) {
        return Objects.requireNonNull(answer.toCompletableFuture().getNow(null));
    }

    private Grant hold() {
        return ((AcquireResult.Granted) now(backend.tryAcquire(request(acquisition())))).grant();
    }

    private OwnerId waitInLine() {
        AcquisitionId waiting = acquisition();
        AcquireResult.Busy busy = (AcquireResult.Busy) now(handOvers.tryAcquire(request(waiting), 1));
        backend.subscribe(Objects.requireNonNull(busy.ticket()), () -> handOvers.signal(waiting.owner()));
        return waiting.owner();
    }

    @Test
    void whoIsFirst_isMadeTheHolder() {
        Grant held = hold();
        OwnerId first = waitInLine();
        backend.release(held, TIMEOUT_MILLIS);
        await().atMost(PATIENCE).until(() -> !handed.isEmpty());
        assertThat(handed.get(0).acquisition().owner()).isEqualTo(first);
        assertThat(handed.get(0).leaseMillis()).isEqualTo(HANDED_MILLIS);
        assertThat(called).isEmpty();
    }

    /** It died while another client held the lock for long. Another place would be in the way of all for a whole lease. */
    @Test
    void whosePlaceHasLapsed_getsNoOther() {
        Grant held = hold();
        OwnerId dead = waitInLine();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(LEASE_MILLIS - 1));
        backend.renew(List.of(held), TIMEOUT_MILLIS);
        OwnerId next = waitInLine();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(2));

        backend.release(held, TIMEOUT_MILLIS);

        await().atMost(PATIENCE).until(() -> !handed.isEmpty());
        assertThat(handed.get(0).acquisition().owner()).isEqualTo(next);
        assertThat(called).containsExactly(dead);
        assertThat(store.entries(NAME)).as("the holder alone").isEqualTo(1);
    }
}
