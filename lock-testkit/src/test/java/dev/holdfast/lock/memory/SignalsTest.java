package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Callbacks run one after the other, whatever the one before did. */
@House("process:signals")
final class SignalsTest {
    private final Signals signals = new Signals();
    private final List<String> run = new ArrayList<>();

    @Test
    void callback_thatLeadsToAnother_endsBeforeThatBegins() {
        signals.add(() -> {
            run.add("first begins");
            signals.add(() -> run.add("second"));
            signals.deliver();
            run.add("first ends");
        });
        assertThat(run).isEmpty();

        signals.deliver();
        signals.deliver();

        assertThat(run).containsExactly("first begins", "first ends", "second");
    }

    /** What comes after an error that is not caught would never be delivered again: its waiters would only poll. */
    @Test
    void callback_thatFails_isLogged_andKeepsNoneOfTheOthers() {
        signals.add(() -> {
            throw new IllegalStateException("on purpose");
        });
        signals.add(() -> {
            throw new StackOverflowError("on purpose");
        });
        signals.add(() -> run.add("next"));
        try (LogCapture log = new LogCapture()) {
            signals.deliver();
            assertThat(log.warnings())
                    .hasSize(2)
                    .allSatisfy(line -> assertThat(line)
                            .endsWith("memory store: a signal's callback failed; the waiter polls later"));
        }
        signals.add(() -> run.add("later"));
        signals.deliver();

        assertThat(run).containsExactly("next", "later");
    }
}
