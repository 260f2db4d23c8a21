package dev.holdfast.chaos.history;

/**
 * What one acquisition has to do with others of the same multi-lock.
 *
 * @param group a number that all of them have, and no others of their process
 * @param patienceMillis how long the caller waits at most; negative if without end
 */
public record Part(int group, int patienceMillis) {
    private static final int BITS = 32;

    /**
     * Reads what {@link #value} wrote.
     *
     * @param value of the event
     * @return the same part
     */
    public static Part of(long value) {
        return new Part((int) (value >> BITS), (int) value);
    }

    /**
     * Writes it as the value of an event.
     *
     * @return a number
     */
    public long value() {
        return (long) group << BITS | patienceMillis & 0xFFFF_FFFFL;
    }
}
