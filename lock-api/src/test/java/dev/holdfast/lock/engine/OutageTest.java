package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquisitionId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The cost of an outage in virtual time: requests to the unavailable store, memory, log lines. */
class OutageTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);

    private OutageBackend backend(boolean expiring) {
        return new OutageBackend(false, expiring, world::now);
    }

    private EngineClient client(OutageBackend backend) {
        return new EngineClient(backend, LockClientOptions.defaults(), machine.runtime()).start();
    }

    private AsyncWaiter submit(EngineClient client, String name, long timeoutNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                name,
                LockOptions.defaults(),
                timeoutNanos,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
        client.entries().submit(name, waiter);
        return waiter;
    }

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void failedTries_byTheThousand_leaveABoundedRestThatIsGoneSoonAfterTheOutage(boolean expiring) {
        OutageBackend backend = backend(expiring);
        EngineClient client = client(backend);
        backend.failure = OutageBackend::unreachable;
        int most = 0;
        for (int i = 0; i < 20_000; i++) {
            AsyncWaiter waiter = submit(client, "job", 0);
            pass(SECOND / 50_000);
            if (i % 1000 == 0) {
                pass(SECOND / 100);
                assertThat(waiter.future).isCompletedExceptionally();
                most = Math.max(most, client.engine().releaser().waiting());
            }
        }
        pass(59 * SECOND);
        int lines = client.engine().releaser().warnings().lines();

        assertThat(most).as("removals that wait").isLessThanOrEqualTo(Backlog.CAPACITY + RoundPace.MIN_SIZE);
        assertThat(backend.mostRemovalsInASecond()).as("requests a second").isLessThanOrEqualTo(100);
        assertThat(lines).as("warnings in a minute").isBetween(1, 7);

        backend.failure = null;
        pass(3 * SECOND);
        assertThat(client.engine().releaser().waiting()).isZero();
        AsyncWaiter after = submit(client, "job", 0);
        pass(SECOND / 10);
        assertThat(after.state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void failedTry_whereAllEndsWithItsLease_isNotCleanedUpForLonger() {
        OutageBackend backend = backend(true);
        EngineClient client = client(backend);
        backend.failure = OutageBackend::unreachable;
        submit(client, "job", 0);
        pass(30 * SECOND);
        int removals = backend.removals;
        assertThat(removals).isPositive();
        pass(600 * SECOND);
        assertThat(backend.removals).isEqualTo(removals);
        assertThat(client.isIdle()).isTrue();
    }

    /** Its request may have arrived only at the end of the request time-out, and have started a lease then. */
    @Test
    void failedTry_whereAllEndsWithItsLease_isCleanedUpForALeaseAndARequest() {
        OutageBackend backend = backend(true);
        EngineClient client = client(backend);
        backend.failure = OutageBackend::unreachable;
        submit(client, "job", 0);
        pass(33 * SECOND / 2); // of 15 s and 3 s
        assertThat(client.engine().releaser().waiting()).isEqualTo(1);
        int removals = backend.removals;
        backend.failure = null;
        pass(7 * SECOND / 5);
        assertThat(backend.removals).isEqualTo(removals + 1);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void failedTry_whereItMayStayWithTheSession_isCleanedUpWheneverTheStoreIsBack() {
        OutageBackend backend = backend(false);
        EngineClient client = client(backend);
        backend.failure = OutageBackend::unreachable;
        submit(client, "job", 0);
        pass(3600 * SECOND);
        assertThat(client.isIdle()).isFalse();
        backend.failure = null;
        pass(2 * SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void refusedTry_leavesNothingToClean(boolean expiring) {
        OutageBackend backend = backend(expiring);
        EngineClient client = client(backend);
        backend.failure = OutageBackend::noPermission;
        submit(client, "job", 0);
        pass(3600 * SECOND);
        assertThat(backend.removals).as("where it may stay, one check").isEqualTo(expiring ? 0 : 1);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void refusedRelease_whereTheGrantMayStayWithTheSession_isTriedLessAndLessOftenUntilItIsAllowed() {
        OutageBackend backend = backend(false);
        EngineClient client = client(backend);
        AsyncWaiter holder = submit(client, "job", 0);
        pass(SECOND);
        backend.failure = OutageBackend::noPermission;
        end(holder);
        pass(600 * SECOND);
        assertThat(backend.removals).isBetween(18, 30);
        assertThat(client.isIdle()).isFalse();
        backend.failure = null;
        pass(31 * SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void refusedRelease_inTheGapOfAPasswordChange_isDoneSoonAfterIt(boolean expiring) {
        OutageBackend backend = backend(expiring);
        EngineClient client = client(backend);
        AsyncWaiter holder = submit(client, "job", 0);
        pass(SECOND);
        backend.failure = OutageBackend::noPermission;
        end(holder);
        pass(SECOND / 2);
        backend.failure = null;
        pass(SECOND * 3 / 2);
        assertThat(backend.isHeld("job")).isFalse();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void refusedRelease_whereAllEndsWithItsLease_isNotTriedForLonger() {
        OutageBackend backend = backend(true);
        EngineClient client = client(backend);
        AsyncWaiter holder = submit(client, "job", 0);
        pass(SECOND);
        backend.failure = OutageBackend::noPermission;
        end(holder);
        pass(30 * SECOND);
        assertThat(backend.removals).isBetween(2, 6);
        assertThat(client.isIdle()).isTrue();
    }

    /** It allows writes but no deletes: each released lock stays, and its removal is retried. */
    @Test
    void refusedReleases_whereTheyMayStayWithTheSession_areBounded_andNewAcquisitionsAreToldSo() {
        RefusingToDelete backend = refusingToDelete(false);
        EngineClient client = client(backend);
        AsyncWaiter last = submit(client, "first", 0);
        for (int i = 0; i < 3_000; i++) {
            last = submit(client, "job" + i, 0);
            pass(SECOND / 1000);
            if (last.hold != null) {
                end(last);
            }
            pass(SECOND / 100);
        }
        assertThat(client.engine().releaser().waiting()).as("pending removals").isEqualTo(Backlog.CAPACITY);
        assertThat(backend.attempts)
                .as("no request without capacity for its removal")
                .isEqualTo(Backlog.CAPACITY + 1);
        assertThat(last.future)
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .havingCause()
                .isInstanceOf(LockUnavailableException.class)
                .withMessageContaining("job2999")
                .withMessageContaining("1000 earlier requests wait for removal")
                .withMessageContaining("refuses");

        pass(60 * SECOND);
        int removals = backend.removals;
        pass(600 * SECOND);
        assertThat(backend.removals - removals).as("in ten minutes").isLessThanOrEqualTo(600 * 20);
        assertThat(backend.mostRemovalsInASecond()).as("requests a second").isLessThanOrEqualTo(200);

        backend.refusesToDelete = false;
        pass(60 * SECOND);
        assertThat(client.engine().releaser().waiting()).isZero();
        AsyncWaiter after = submit(client, "job0", 0);
        pass(SECOND / 10);
        assertThat(after.state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void refusedReleases_whereAllEndsWithItsLease_giveWayToNewOnes() {
        RefusingToDelete backend = refusingToDelete(true);
        EngineClient client = client(backend);
        for (int i = 0; i < 2 * Backlog.MAX_SIZE; i++) {
            AsyncWaiter waiter = submit(client, "job" + i, 0);
            pass(SECOND / 20_000);
            assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
            end(waiter);
        }
        pass(SECOND / 100);
        assertThat(client.engine().releaser().waiting()).isLessThanOrEqualTo(Backlog.MAX_SIZE);
        pass(60 * SECOND);
        assertThat(client.engine().releaser().waiting()).isZero();
    }

    /** Locks released during an outage count as well: their number, with that of the abandoned acquisitions, is bounded. */
    @Test
    void releases_duringAnOutage_whereTheyMayStayWithTheSession_keepNewAcquisitionsAwayUntilTheyAreDone() {
        OutageBackend backend = backend(false);
        EngineClient client = client(backend);
        List<AsyncWaiter> holders = new ArrayList<>();
        for (int i = 0; i < Backlog.CAPACITY; i++) {
            holders.add(submit(client, "held" + i, 0));
        }
        pass(SECOND);
        backend.failure = OutageBackend::unreachable;
        holders.forEach(this::end);
        pass(SECOND);
        int attempts = backend.attempts;
        for (int i = 0; i < 1_000; i++) {
            submit(client, "job" + i, 0);
        }
        pass(SECOND);
        assertThat(backend.attempts).isEqualTo(attempts);
        assertThat(client.engine().releaser().waiting()).isEqualTo(Backlog.CAPACITY);

        backend.failure = null;
        pass(3 * SECOND);
        assertThat(client.engine().releaser().waiting()).isZero();
        AsyncWaiter after = submit(client, "held0", 0);
        pass(SECOND / 10);
        assertThat(after.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** Attempts are granted, releases and abandonments are refused. */
    private static final class RefusingToDelete extends OutageBackend {
        boolean refusesToDelete = true;

        RefusingToDelete(boolean expiring, SimWorld world) {
            super(false, expiring, world::now);
        }

        @Override
        <T> CompletionStage<T> remove(AcquisitionId acquisition, T removed, T absent) {
            failure = refusesToDelete ? OutageBackend::noPermission : null;
            CompletionStage<T> answer = super.remove(acquisition, removed, absent);
            failure = null;
            return answer;
        }
    }

    private void end(AsyncWaiter holder) {
        Hold hold = Objects.requireNonNull(holder.hold);
        hold.lock.end(hold);
    }

    private RefusingToDelete refusingToDelete(boolean expiring) {
        return new RefusingToDelete(expiring, world);
    }

    /** The bound must not affect holders: their releases are never dropped. */
    @Test
    void releases_duringAnOutage_areNotPushedOutByFailedTries() {
        OutageBackend backend = backend(true);
        EngineClient client = client(backend);
        List<AsyncWaiter> holders = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            holders.add(submit(client, "held" + i, 0));
        }
        pass(SECOND);
        backend.failure = OutageBackend::unreachable;
        for (AsyncWaiter holder : holders) {
            end(holder);
        }
        for (int i = 0; i < 5_000; i++) {
            submit(client, "job", 0);
        }
        backend.failure = null;
        pass(5 * SECOND);
        for (int i = 0; i < 50; i++) {
            AsyncWaiter next = submit(client, "held" + i, 0);
            pass(SECOND / 100);
            assertThat(next.state).as("the lock of holder " + i).isEqualTo(Waiter.State.GRANTED);
        }
    }

    @Test
    void outage_withHeldAndAwaitedLocks_isSummedUpInTheLog() {
        OutageBackend backend = backend(false);
        EngineClient client = client(backend);
        for (int i = 0; i < 500; i++) {
            submit(client, "held" + i, 0);
        }
        pass(SECOND);
        backend.failure = OutageBackend::unreachable;
        List<CompletableFuture<Lease>> waits = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            waits.add(submit(client, "awaited" + i, Waiter.FOREVER).future);
        }
        pass(90 * SECOND);
        assertThat(waits).allMatch(CompletableFuture::isCompletedExceptionally);
        assertThat(client.engine().releaser().warnings().lines())
                .as("warnings in 90 s")
                .isBetween(1, 10);
        assertThat(client.engine().losses().lines()).as("warnings in 90 s").isBetween(1, 3);
    }

    @Test
    void abandonments_whileOnePartOfTheStoreIsDead_areTriedAtOnceElsewhere() {
        List<String> abandoned = new ArrayList<>();
        OutageBackend backend = new OutageBackend(false, true, world::now) {
            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                abandoned.add(acquisition.name());
                return acquisition.name().startsWith("dead")
                        ? CompletableFuture.failedFuture(unreachable())
                        : CompletableFuture.completedFuture(null);
            }
        };
        EngineClient client = client(backend);
        backend.failure = OutageBackend::unreachable;
        for (int i = 0; i < 4; i++) {
            submit(client, "dead" + i, 0);
            submit(client, "well" + i, 0);
        }
        pass(SECOND / 15);
        assertThat(client.engine().releaser().waiting())
                .as("after the first round")
                .isEqualTo(4);

        submit(client, "well", 0);
        pass(SECOND / 1000);
        assertThat(abandoned).contains("well");
    }
}
