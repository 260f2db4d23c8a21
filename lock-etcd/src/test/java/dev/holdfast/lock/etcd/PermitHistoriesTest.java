package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random histories of a semaphore on a {@link SimulatedEtcd}: requests that stall, arrive late or twice, or are
 * abandoned, clients that crash, permits of several sizes, a changing limit. The clients are the real ones, up to
 * jetcd.
 */
final class PermitHistoriesTest {
    private static final int HISTORIES = Integer.getInteger("holdfast.permits.seeds", 100);

    @ParameterizedTest(name = "limit {0}")
    @ValueSource(ints = {2, 3, 5})
    void histories_noSlotTwice_tokensRise_noWaiterHasRoom(int limit) {
        int grants = 0;
        for (int seed = 0; seed < HISTORIES; seed++) {
            PermitHistory history = new PermitHistory(limit, seed, false);
            history.run();
            assertThat(history.violations())
                    .as("limit %d, seed %d", limit, seed)
                    .isEmpty();
            grants += history.grants();
        }
        assertThat(grants).isGreaterThan(5 * HISTORIES);
    }

    @Test
    void histories_withAChangingLimit() {
        int grants = 0;
        for (int seed = 0; seed < HISTORIES; seed++) {
            PermitHistory history = new PermitHistory(3, seed, true);
            history.run();
            assertThat(history.violations()).as("seed %d", seed).isEmpty();
            grants += history.grants();
        }
        assertThat(grants).isGreaterThan(HISTORIES);
    }

    /** An attempt reads only the head of such a queue. */
    @ParameterizedTest(name = "limit changes: {0}")
    @ValueSource(booleans = {false, true})
    void histories_withALongQueue(boolean changes) {
        int grants = 0;
        // A limit that changes needs more of them: what is repeated after a pause comes sooner or later, by the
        // machine's clock.
        for (int seed = 0; seed < HISTORIES / (changes ? 10 : 20); seed++) {
            PermitHistory history = PermitHistory.ofMany(2, seed, changes);
            history.run();
            assertThat(history.violations()).as("seed %d", seed).isEmpty();
            grants += history.grants();
        }
        assertThat(grants).isGreaterThan(changes ? HISTORIES / 2 : HISTORIES);
    }
}
