package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a lease is renewed, and when the renewal is retried if the store fails: soon at first, then less and less often. */
class RenewalPaceTest {
    private static final long MILLI = 1_000_000;

    /** Records the times of renewals. */
    private static final class Noting extends OutageBackend {
        private final LongSupplier clock;
        final List<Long> renewedAt = new ArrayList<>();

        Noting(boolean blocking, LongSupplier clock) {
            super(blocking, false, clock);
            this.clock = clock;
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            renewedAt.add(clock.getAsLong());
            return super.renew(grants, timeoutMillis);
        }
    }

    private static Virtual virtual(boolean blocking) {
        return new Virtual(LockClientOptions.defaults(), clock -> new Noting(blocking, clock));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void renewal_isDueAfterAThirdOfTheLease(boolean blocking) {
        Virtual virtual = virtual(blocking);
        Noting backend = (Noting) virtual.backend;
        Hold hold = virtual.hold("n", LockOptions.defaults());
        virtual.pass(61 * Virtual.SECOND);
        assertThat(backend.renewedAt).hasSizeBetween(11, 13);
        for (int i = 1; i < backend.renewedAt.size(); i++) {
            assertThat(backend.renewedAt.get(i) - backend.renewedAt.get(i - 1)).isBetween(4_900 * MILLI, 5_100 * MILLI);
        }
        assertThat(hold.state).isEqualTo(Hold.State.HELD);
        virtual.end(hold);
        virtual.pass(Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** Half to the whole of 20 ms, 40 ms and so on, up to the maximum: a second, or a twelfth of a short lease. */
    @ParameterizedTest
    @ValueSource(longs = {15_000, 3_000})
    void failedRenewal_isTriedAgain_laterEachTime(long leaseMillis) {
        Virtual virtual = virtual(false);
        Noting backend = (Noting) virtual.backend;
        Hold hold = virtual.hold(
                "n", LockOptions.builder().lease(Duration.ofMillis(leaseMillis)).build());
        backend.failure = OutageBackend::unreachable;
        virtual.pass(leaseMillis * MILLI * 9 / 10);
        assertThat(hold.state).isEqualTo(Hold.State.HELD);
        assertThat(backend.renewedAt).hasSizeGreaterThan(7);
        long longest = Math.min(1_000, leaseMillis / 12) * MILLI;
        for (int i = 1; i < backend.renewedAt.size(); i++) {
            long delay = Math.min(longest, 20 * MILLI << Math.min(i - 1, 6));
            assertThat(backend.renewedAt.get(i) - backend.renewedAt.get(i - 1))
                    .as("try %d", i + 1)
                    .isBetween(delay / 2, delay + MILLI);
        }
        backend.failure = null;
        virtual.pass(Virtual.SECOND);
        int renewals = backend.renewedAt.size();
        assertThat(virtual.remainingMillis(hold)).as("was renewed").isGreaterThan(leaseMillis / 2);
        virtual.pass(leaseMillis * MILLI / 3);
        assertThat(backend.renewedAt.size() - renewals)
                .as("by the third of a lease again")
                .isBetween(1, 2);
    }
}
