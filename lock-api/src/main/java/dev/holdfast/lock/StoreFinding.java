package dev.holdfast.lock;

import dev.holdfast.lock.text.Printable;

/**
 * Something about a store that matters to its locks: its version, a setting, a right. Immutable.
 *
 * @param grade whether anything has to be done
 * @param observation what was seen, one line without a secret
 * @param remedy what to do, a statement or a setting where there is one; empty if nothing has to be done
 */
public record StoreFinding(Grade grade, String observation, String remedy) {

    /** How bad it is. */
    public enum Grade {
        /** As it should be. */
        OK,
        /** Locks work, but a crash, a failover or another event may break what they promise. */
        WARNING,
        /** Locks do not work. */
        PROBLEM
    }

    /**
     * Makes the texts printable.
     *
     * @param grade as above
     * @param observation as above
     * @param remedy as above
     */
    public StoreFinding {
        observation = Printable.of(observation);
        remedy = Printable.of(remedy);
    }

    /**
     * A finding that needs nothing to be done.
     *
     * @param observation what was seen
     * @return the finding
     */
    public static StoreFinding ok(String observation) {
        return new StoreFinding(Grade.OK, observation, "");
    }

    /**
     * A finding that is to be mended some time.
     *
     * @param observation what was seen
     * @param remedy what to do
     * @return the finding
     */
    public static StoreFinding warning(String observation, String remedy) {
        return new StoreFinding(Grade.WARNING, observation, remedy);
    }
}
