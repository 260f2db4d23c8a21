package dev.holdfast.lock.testkit.support;

/**
 * How large a test of scale is: small every day, so that a run of all tests stays short, and of full size with
 * {@code -Dholdfast.full=true}, which {@code bin/verify --full} sets.
 */
public final class TestSize {
    private static final boolean FULL = Boolean.getBoolean("holdfast.full");

    private TestSize() {}

    /**
     * Chooses the size.
     *
     * @param everyday the size in everyday runs
     * @param full the size in full runs
     * @return one of both
     */
    public static int of(int everyday, int full) {
        return FULL ? full : everyday;
    }
}
