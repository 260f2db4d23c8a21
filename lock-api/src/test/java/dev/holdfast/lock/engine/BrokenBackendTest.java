package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A backend with a bug, whose calls throw or return null: this is handled like any failure, and the client keeps working. */
class BrokenBackendTest {
    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Broken::new);
    private final Broken backend = (Broken) virtual.backend;

    private enum Bug {
        NONE,
        THROWS,
        THROWS_AN_ERROR,
        RETURNS_NULL
    }

    private record Place() implements Ticket {}

    /** While set, all calls have the bug. */
    private static final class Broken extends OutageBackend {
        Bug bug = Bug.NONE;
        int calls;

        Broken(LongSupplier clock) {
            super(false, false, clock);
        }

        @SuppressWarnings("NullAway") // the bug
        private <T> CompletionStage<T> call(Supplier<CompletionStage<T>> proper) {
            calls++;
            return switch (bug) {
                case NONE -> proper.get();
                case THROWS -> throw new IllegalStateException("on purpose");
                case THROWS_AN_ERROR -> throw new NoClassDefFoundError("on purpose");
                case RETURNS_NULL -> null;
            };
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            return call(() -> super.tryAcquire(request)
                    .thenApply(result ->
                            result instanceof AcquireResult.Busy ? new AcquireResult.Busy(-1, new Place()) : result));
        }

        @Override
        public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
            throw new IllegalStateException("it cannot be listened to");
        }

        @Override
        public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
            return call(() -> super.abandon(acquisition, timeoutMillis));
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            return call(() -> super.release(grant, timeoutMillis));
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            return call(() -> super.renew(grants, timeoutMillis));
        }

        @Override
        public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
            return call(() -> super.holder(name, timeoutMillis));
        }
    }

    /** Its entry is removed once removals work. */
    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void attempt_isTold_alsoToOneThatWaits_andWhatItMayHaveLeftIsRemoved(Bug bug) {
        backend.bug = bug;
        for (long timeoutNanos : new long[] {0, Waiter.FOREVER}) {
            AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), timeoutNanos);
            assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
            assertThat(waiter.failure)
                    .isExactlyInstanceOf(LockException.class)
                    .hasMessageStartingWith("lock 'n': the backend failed unexpectedly: ")
                    .hasMessageEndingWith("; this is a bug, please report it");
        }
        assertThat(virtual.client.status().pendingReleases()).isEqualTo(2);
        backend.bug = Bug.NONE;
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.removals).isEqualTo(2);
        assertThat(virtual.client.isIdle()).isTrue();
        assertThat(virtual.hold("n", LockOptions.defaults()).state).isEqualTo(Hold.State.HELD);
    }

    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void renewal_isTriedAgain(Bug bug) {
        List<String> reported = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void suspect(String name, long token, String detail) {
                reported.add("suspect");
            }

            @Override
            public void renewed(String name, long token) {
                reported.add("renewed");
            }

            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                reported.add("lost");
            }
        });
        virtual.hold("n", LockOptions.defaults());
        backend.bug = bug;
        virtual.pass(6 * Virtual.SECOND);
        assertThat(backend.calls).as("the attempt, and several renewals").isGreaterThan(4);
        backend.bug = Bug.NONE;
        virtual.pass(2 * Virtual.SECOND);
        assertThat(reported).containsExactly("suspect", "renewed");
    }

    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void release_returns_andIsTriedAgain(Bug bug) {
        virtual.client.lock("n").lock();
        backend.bug = bug;
        virtual.client.lock("n").unlock();
        assertThat(virtual.client.status().pendingReleases()).isEqualTo(1);
        backend.bug = Bug.NONE;
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void question_isToldSo(Bug bug) {
        backend.bug = bug;
        assertThatThrownBy(() -> virtual.client.holder("n"))
                .isExactlyInstanceOf(LockException.class)
                .hasMessageStartingWith("lock 'n': the backend failed unexpectedly: ");
    }

    @Test
    void listening_thatFails_isTold_andTheWaitGoesOnByPolls() {
        backend.holders.put("n", new AcquisitionId("n", OwnerId.random()));
        List<AsyncWaiter> waiters = new ArrayList<>();
        String log = LogText.of(() -> waiters.add(virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER)));
        assertThat(log).containsOnlyOnce("ERROR").contains("IllegalStateException: it cannot be listened to");
        backend.holders.clear();
        virtual.pass(2 * Virtual.SECOND);
        assertThat(waiters.get(0).state).isEqualTo(Waiter.State.GRANTED);
    }
}
