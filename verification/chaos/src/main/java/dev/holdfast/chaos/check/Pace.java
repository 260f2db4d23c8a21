package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Interval;
import java.util.List;
import java.util.Locale;

/**
 * How quick machine and store were, measured next to the locks in the same run.
 *
 * @param stalls when the controller, through which all requests go, was paused
 * @param writes writes to the store without the library, each until its answer
 */
public record Pace(List<Interval> stalls, List<Interval> writes) {
    /** Nothing was slow. */
    public static final Pace EVEN = new Pace(List.of(), List.of());

    /**
     * Says it to people.
     *
     * @return a sentence
     */
    @Override
    public String toString() {
        List<Long> millis = writes.stream()
                .map(write -> (write.end() - write.start()) / 1_000_000)
                .sorted()
                .toList();
        long stalled =
                stalls.stream().mapToLong(stall -> stall.end() - stall.start()).sum();
        String still = String.format(Locale.ROOT, "the controller stood still for %.1f s", stalled / 1e9);
        return millis.isEmpty()
                ? still
                : String.format(
                        Locale.ROOT,
                        "%s; of %d raw writes to the store, half took up to %d ms, 99 of 100 up to %d ms, one %d ms",
                        still,
                        millis.size(),
                        millis.get(millis.size() / 2),
                        millis.get(millis.size() * 99 / 100),
                        millis.get(millis.size() - 1));
    }
}
