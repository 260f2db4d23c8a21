package dev.holdfast.chaos.history;

/**
 * A time in which things were not as usual.
 *
 * @param what for people
 * @param start since the run's origin, in nanoseconds
 * @param end not before {@code start}
 */
public record Interval(String what, long start, long end) {

    /**
     * Tells whether another stretch of time has an instant in common.
     *
     * @param from its start
     * @param to its end
     * @return true if they overlap
     */
    public boolean overlaps(long from, long to) {
        return start <= to && from <= end;
    }
}
