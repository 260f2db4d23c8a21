package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.engine.LogText;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Log lines about events that did not reach a listener. */
class EventsTest {
    private static final BackgroundLog LOG = BackgroundLog.here(LoggerFactory.getLogger(EventsTest.class));

    private final List<String> reported = new ArrayList<>();
    private boolean full;

    private static int count(String log, String text) {
        return log.split(Pattern.quote(text), -1).length - 1;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void droppedEvents_areToldOnce_untilOneWasTaken(boolean noThread) {
        Events events = new Events(LOG, task -> {
            if (full && noThread) {
                throw new OutOfMemoryError("on purpose");
            }
            if (full) {
                throw new RejectedExecutionException("on purpose");
            }
            task.run();
        });
        events.add(new LockListener() {
            @Override
            public void attempted(String name) {
                reported.add(name);
            }
        });
        String log = LogText.of(() -> {
            for (String name : List.of("a", "-b", "-c", "d", "-e", "f")) {
                full = name.startsWith("-");
                events.publish(listener -> listener.attempted(name));
            }
        });
        assertThat(count(log, "lock events are dropped: the listeners are too slow"))
                .isEqualTo(2);
        assertThat(events.dropped()).isEqualTo(3);
        assertThat(reported).containsExactly("a", "d", "f");
    }

    private static final class Failing implements LockListener {
        @Override
        public void attempted(String name) {
            throw new IllegalStateException("on purpose");
        }
    }

    @Test
    void listenerThatFails_isNamed_withItsFailure() {
        Events events = new Events(LOG, Runnable::run);
        events.add(new Failing());
        String log = LogText.of(() -> events.publish(listener -> listener.attempted("n")));
        assertThat(log)
                .containsOnlyOnce("WARN")
                .contains("lock listener " + Failing.class.getName() + " failed; it misses this event")
                .contains("IllegalStateException: on purpose");
    }
}
