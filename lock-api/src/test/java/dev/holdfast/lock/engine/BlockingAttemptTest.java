package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** The time-outs of attempts on a blocking backend, and the wait that they request. */
class BlockingAttemptTest {
    private static final long MILLI = 1_000_000;
    private static final long TIMEOUT_MILLIS = 3_000;

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Recording::new);
    private final Recording backend = (Recording) virtual.backend;

    /** A request and when it was sent. */
    private record Sent(long atNanos, AcquireRequest request) {}

    private static final class Recording extends OutageBackend {
        private final LongSupplier clock;
        final List<Sent> sent = new ArrayList<>();

        Recording(LongSupplier clock) {
            super(true, false, clock);
            this.clock = clock;
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            sent.add(new Sent(clock.getAsLong(), request));
            return super.tryAcquire(request);
        }
    }

    private Sent sent(int index) {
        return backend.sent.get(index);
    }

    /** The remaining time at a later request, in whole milliseconds. */
    private long left(long millis, int index) {
        return Durations.ceilMillis(millis * MILLI - (sent(index).atNanos() - sent(0).atNanos()));
    }

    @Test
    void try_mayTakeTheRequestTimeOut_andDoesNotWait() {
        virtual.submit("n", LockOptions.defaults(), 0);
        virtual.pass(MILLI);
        assertThat(sent(0).request().timeoutMillis()).isEqualTo(TIMEOUT_MILLIS);
        assertThat(sent(0).request().waitMillis()).isZero();
    }

    @Test
    void firstAttempt_mayTakeTheRequestTimeOut_howeverShortTheWait() {
        virtual.submit("n", LockOptions.defaults(), 100 * MILLI);
        virtual.pass(MILLI);
        assertThat(sent(0).request().timeoutMillis()).isEqualTo(TIMEOUT_MILLIS);
        assertThat(sent(0).request().waitMillis()).isEqualTo(100);
    }

    @Test
    void attempt_behindAnAnswer_endsByTheDeadline() {
        backend.holders.put("n", new AcquisitionId("n", OwnerId.random()));
        virtual.submit("n", LockOptions.defaults(), 2_500 * MILLI);
        virtual.pass(2_400 * MILLI);
        assertThat(backend.sent).hasSizeGreaterThan(1);
        assertThat(sent(1).request().timeoutMillis()).isEqualTo(left(2_500, 1));
        assertThat(sent(1).request().waitMillis()).isEqualTo(left(2_500, 1));
    }

    @Test
    void attempt_ofALongWait_mayTakeTheRequestTimeOut() {
        backend.holders.put("n", new AcquisitionId("n", OwnerId.random()));
        virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        virtual.pass(2_400 * MILLI);
        assertThat(backend.sent).hasSizeGreaterThan(1);
        assertThat(sent(1).request().timeoutMillis()).isEqualTo(TIMEOUT_MILLIS);
    }

    @Test
    void attempt_behindAFailure_mayTakeWhatIsLeftOfOneAnswer() {
        backend.failure = OutageBackend::unreachable;
        virtual.submit("n", LockOptions.defaults(), 100 * MILLI);
        virtual.pass(60 * MILLI);
        assertThat(backend.sent).hasSizeGreaterThan(1);
        assertThat(sent(1).atNanos()).isGreaterThan(sent(0).atNanos());
        assertThat(sent(1).request().timeoutMillis()).isEqualTo(left(TIMEOUT_MILLIS, 1));
        assertThat(sent(1).request().waitMillis()).isEqualTo(left(100, 1));
    }

    /** A thread makes its own attempts itself; renewals and releases of dropped leases run on the client's threads. */
    @Test
    void holdOfAThread_isRenewedElsewhere_andReleasedByIt() {
        DistributedLock lock = virtual.client.lock("n");
        assertThat(lock.tryLock()).isTrue();
        assertThat(sent(0).request().waitMillis()).isZero();
        virtual.pass(40 * Virtual.SECOND);
        assertThat(lock.isHeldByCurrentThread()).as("was renewed").isTrue();

        lock.unlock();

        assertThat(lock.isHeldByCurrentThread()).isFalse();
        virtual.pass(Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @Test
    void thread_thatFindsTheLockTaken_isToldSo() {
        backend.holders.put("n", new AcquisitionId("n", OwnerId.random()));
        assertThat(virtual.client.lock("n").tryLock()).isFalse();
        assertThat(backend.sent).hasSize(1);
        assertThat(virtual.client.isIdle()).isTrue();
    }
}
