package dev.holdfast.lock.redis.internal.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.support.LogCapture;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A line for the first grant, and one for all those of the next interval. */
final class DegradedGrantsTest {
    private final List<Runnable> later = new ArrayList<>();
    private final DegradedGrants degraded = new DegradedGrants(later::add);

    @Test
    void grantsOfAnInterval_areOneLine_andTheNextIntervalBeginsAgain() throws Exception {
        try (LogCapture log = new LogCapture()) {
            for (int i = 1; i <= 1000; i++) {
                degraded.note("holdfast:{" + i + "}", "0 of 1 replicas");
            }
            assertThat(log.ours()).singleElement().asString().contains("'holdfast:{1}': 0 of 1 replicas; granted");
            later.remove(0).run();
            assertThat(log.ours())
                    .hasSize(2)
                    .last()
                    .asString()
                    .contains("999 more grants")
                    .endsWith("the latest: lock key 'holdfast:{1000}': 0 of 1 replicas");
            later.remove(0).run();
            assertThat(later).as("an interval without grants is the last").isEmpty();
            degraded.note("holdfast:{n}", "0 of 1 replicas");
            assertThat(log.ours()).hasSize(3);
        }
    }
}
