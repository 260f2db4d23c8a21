package dev.holdfast.examples.election;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/** The times without a leader, grouped by why the last one stopped. Not thread-safe. */
final class TakeOvers {

    /** Why a leader stopped. */
    enum Why {
        KILL("killed", "after SIGKILL"),
        YIELD("resigned", "after a resignation"),
        PAUSE("paused", "after SIGSTOP");

        final String done;
        final String after;

        Why(String done, String after) {
            this.done = done;
            this.after = after;
        }
    }

    private record TakeOver(Why why, long micros) {}

    private final List<TakeOver> all = new ArrayList<>();

    void add(Why why, long micros) {
        all.add(new TakeOver(why, Math.max(0, micros)));
    }

    /** The line of one cause; empty if there was no take-over. */
    Optional<String> line(Why why) {
        Histogram micros = new Histogram(3);
        all.stream().filter(one -> one.why() == why).forEach(one -> micros.recordValue(one.micros()));
        if (micros.getTotalCount() == 0) {
            return Optional.empty();
        }
        String text = micros.getTotalCount() == 1
                ? seconds(micros.getMaxValue())
                : String.format(
                        Locale.ROOT,
                        "median %s, longest %s, of %d",
                        seconds(micros.getValueAtPercentile(50)),
                        seconds(micros.getMaxValue()),
                        micros.getTotalCount());
        return Optional.of(String.format(Locale.ROOT, "take-over %-20s %s", why.after + ":", text));
    }

    static String seconds(long micros) {
        return micros < 1_000_000
                ? String.format(Locale.ROOT, "%.0f ms", micros / 1e3)
                : String.format(Locale.ROOT, "%.2f s", micros / 1e6);
    }
}
