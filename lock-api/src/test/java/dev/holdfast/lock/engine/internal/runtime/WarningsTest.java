package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** One line for the first of a thousand warnings, and one summary that names the next five. */
final class WarningsTest {

    private final List<Runnable> timers = new ArrayList<>();
    private final List<String> summaries = new ArrayList<>();
    private final Warnings warnings = new Warnings(
            (nanos, task) -> {
                timers.add(task);
                return Subscription.NONE;
            },
            (count, names, latest) -> summaries.add(count + " more, of " + names + ", the latest: " + latest));

    @Test
    void thousandWarnings_areOneLineAndASummaryWithTheFirstNames() {
        int first = 0;
        for (int i = 0; i < 1_000; i++) {
            first += warnings.note("job/" + i % 500, "warning " + i) ? 1 : 0;
        }
        timers.remove(0).run();
        timers.remove(0).run();

        assertThat(first).isEqualTo(1);
        assertThat(summaries)
                .containsExactly("999 more, of 'job/1', 'job/2', 'job/3', 'job/4', 'job/5', the latest: warning 999");
        assertThat(timers).isEmpty();
        assertThat(warnings.lines()).isEqualTo(2);
    }

    @Test
    void eachSummary_hasWhatCameSinceTheLastOne() {
        for (String name : List.of("a", "b", "c")) {
            warnings.note(name, "of " + name);
        }
        timers.remove(0).run();
        warnings.note("d", "of d");
        timers.remove(0).run();

        assertThat(summaries)
                .containsExactly("2 more, of 'b', 'c', the latest: of c", "1 more, of 'd', the latest: of d");
    }

    /** A loss may be found while the client closes. */
    @Test
    void warningAfterTheEnd_isLoggedAtOnce_sinceNoSummaryComes() {
        warnings.note("a", "of a");
        warnings.note("b", "of b");
        warnings.close();
        assertThat(summaries).containsExactly("1 more, of 'b', the latest: of b");
        assertThat(warnings.note("c", "of c")).isTrue();
        assertThat(warnings.note("d", "of d")).isTrue();
        timers.remove(0).run();

        assertThat(timers).isEmpty();
        assertThat(summaries).hasSize(1);
        assertThat(warnings.lines()).isEqualTo(4);
    }

    @Test
    void warnings_comeFromAnyThread() {
        warnings.note("a", "of a");
        warnings.note("b", "of b");
        onAnotherThread(() -> warnings.note("c", "of c"));
        assertThat(warnings.lines()).isEqualTo(1);
        onAnotherThread(timers.remove(0));
        warnings.sumUp();
        onAnotherThread(warnings::sumUp);

        assertThat(summaries).containsExactly("2 more, of 'b', 'c', the latest: of c");
    }

    private static void onAnotherThread(Runnable task) {
        CompletableFuture.runAsync(task).orTimeout(10, TimeUnit.SECONDS).join();
    }
}
