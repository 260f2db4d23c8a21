package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        assertThat(beats).as("the work of the lost wake-up is overdue").hasSize(1);
    }

    @Test
    void beat_thatIsDue_servesLaterNeedsToo() {
        housekeeper.needWithin(SECOND);
        housekeeper.needWithin(5 * SECOND);
        pass(20 * SECOND);
        assertThat(beats).hasSize(1);
    }

    private Housekeeper of(Timer timer, LongUnaryOperator beat) {
        return new Housekeeper(runtime.ticker(), timer, now -> {
            beats.add(world.now());
            return beat.applyAsLong(now);
        });
    }

    @Test
    void beat_thatFails_isTold_andComesAgainInASecond() {
        Housekeeper failing = of(runtime.timer(), now -> {
            if (beats.size() == 1) {
                throw new IllegalStateException("on purpose");
            }
            return Housekeeper.NEVER;
        });
        long start = world.now();
        String log = LogText.of(() -> {
            failing.needWithin(3 * SECOND);
            pass(20 * SECOND);
        });
        assertThat(beats).containsExactly(start + 3 * SECOND, start + 4 * SECOND);
        assertThat(log)
                .containsOnlyOnce("ERROR")
                .contains("the lock engine's periodic task failed; trying again in a second")
                .contains("IllegalStateException: on purpose");
    }

    @Test
    void beat_saysWhenTheNextOneComes() {
        Housekeeper thrice = of(runtime.timer(), now -> beats.size() < 3 ? 2 * SECOND : Housekeeper.NEVER);
        long start = world.now();
        thrice.needWithin(SECOND);
        pass(20 * SECOND);
        assertThat(beats).containsExactly(start + SECOND, start + 3 * SECOND, start + 5 * SECOND);
    }

    /** The later timer is not needed any more, even if it had started when it was closed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void earlierNeed_bringsTheBeatForward(boolean runsAlthoughClosed) {
        Timer timer = (delay, task) -> {
            Subscription begun = runtime.timer().after(delay, task);
            return runsAlthoughClosed ? Subscription.NONE : begun;
        };
        Housekeeper brought = of(timer, now -> Housekeeper.NEVER);
        long start = world.now();
        brought.needWithin(5 * SECOND);
        brought.needWithin(SECOND);
        pass(20 * SECOND);
        assertThat(beats).containsExactly(start + SECOND);
    }
}
