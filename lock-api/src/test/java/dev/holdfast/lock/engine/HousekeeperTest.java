package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HousekeeperTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final EngineRuntime runtime = world.new Machine(1).runtime();
    private final List<Long> beats = new ArrayList<>();
    private int lost;

    private final Housekeeper housekeeper = new Housekeeper(
            runtime.ticker(),
            (delay, task) -> {
                if (lost-- > 0) {
                    return Subscription.NONE;
                }
                return runtime.timer().after(delay, task);
            },
            now -> {
                beats.add(world.now());
                return Housekeeper.NEVER;
            });

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    @Test
    void beat_thatTheTimerHadNoThreadFor_isAskedForAgain() {
        lost = 1;
        housekeeper.needWithin(SECOND);
        pass(3 * SECOND);
        assertThat(beats).isEmpty();

        housekeeper.needWithin(10 * SECOND);
        pass(SECOND / 10);
        assertThat(beats).as("what the lost beat was for is overdue").hasSize(1);
    }

    @Test
    void beat_thatIsDue_servesLaterNeedsToo() {
        housekeeper.needWithin(SECOND);
        housekeeper.needWithin(5 * SECOND);
        pass(20 * SECOND);
        assertThat(beats).hasSize(1);
    }
}
