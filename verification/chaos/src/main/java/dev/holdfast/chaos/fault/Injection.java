package dev.holdfast.chaos.fault;

import dev.holdfast.chaos.history.Interval;

/**
 * A fault that was done. Instants are nanoseconds since the run's origin.
 *
 * @param fault what
 * @param target to whom, for people
 * @param client the client it concerned alone; -1 if all
 * @param start when it began
 * @param end when it was undone
 */
public record Injection(Fault fault, String target, int client, long start, long end) {

    /**
     * Returns when things were not as usual.
     *
     * @return from its beginning to its end
     */
    public Interval interval() {
        return new Interval(fault.kind() + " " + target, start, end);
    }
}
