package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Interval;
import java.util.List;
import java.util.Locale;

/**
 * How quick machine and store were, measured next to the locks in the same run.
 *
 * @param stalls when the controller, through which all requests go, was paused
 * @param writes writes to the store without the library, each until its answer
 * @param requests how many requests each client sent, in one stretch of time after the other
 */
public record Pace(List<Interval> stalls, List<Interval> writes, List<Requests> requests) {
    /** Nothing was slow. */
    public static final Pace EVEN = new Pace(List.of(), List.of());

    /**
     * What the network saw of a client.
     *
     * @param client its number
     * @param time when, since the run's origin
     * @param count how many requests
     */
    public record Requests(int client, Interval time, long count) {}

    /**
     * A pace without requests.
     *
     * @param stalls when the controller was paused
     * @param writes writes to the store without the library
     */
    public Pace(List<Interval> stalls, List<Interval> writes) {
        this(stalls, writes, List.of());
    }

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
