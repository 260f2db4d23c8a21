package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.engine.LogText;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Log lines about a client's losses. */
class LossWarningsTest {

    @Test
    void losses_areTheFirstOne_andOneLineWithTheNamesOfTheOthers() {
        LossWarnings losses = new LossWarnings(
                BackgroundLog.here(LoggerFactory.getLogger(LossWarningsTest.class)),
                "store",
                (nanos, task) -> Subscription.NONE);
        String log = LogText.of(() -> {
            for (String name : List.of("a", "b", "c")) {
                losses.warn(name, "lock '" + name + "': lease lost");
            }
            losses.close();
        });
        assertThat(log.lines())
                .hasSize(2)
                .satisfiesExactly(
                        first -> assertThat(first).endsWith("lock 'a': lease lost"),
                        then -> assertThat(then)
                                .endsWith("lock client of store: 2 more leases were lost within 10.0 s,"
                                        + " first those of 'b', 'c'; the latest: lock 'c': lease lost"));
    }
}
