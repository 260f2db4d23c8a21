package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One line for the first of a thousand warnings, and one summary that names the next five. */
final class WarningsTest {

    @Test
    void thousandWarnings_areOneLineAndASummaryWithTheFirstNames() {
        List<Runnable> timers = new ArrayList<>();
        List<String> summaries = new ArrayList<>();
        Warnings warnings = new Warnings(
                (nanos, task) -> {
                    timers.add(task);
                    return Subscription.NONE;
                },
                (count, names, latest) -> summaries.add(count + " more, of " + names + ", the latest: " + latest));
        int first = 0;
        for (int i = 0; i < 1_000; i++) {
            first += warnings.isFirst("job/" + i % 500, "warning " + i) ? 1 : 0;
        }
        timers.remove(0).run();
        timers.remove(0).run();

        assertThat(first).isEqualTo(1);
        assertThat(summaries)
                .containsExactly("999 more, of 'job/1', 'job/2', 'job/3', 'job/4', 'job/5', the latest: warning 999");
        assertThat(timers).isEmpty();
        assertThat(warnings.lines()).isEqualTo(2);
    }
}
