package dev.holdfast.lock;

import dev.holdfast.lock.text.Printable;

/**
 * A finding about a store that affects its locks: its version, a setting, a privilege. Immutable.
 *
 * @param grade how severe it is
 * @param observation what was observed, in one line without secrets
 * @param remedy what to do, if possible a statement or a setting; empty if there is nothing to do
 */
public record StoreFinding(Grade grade, String observation, String remedy) {

    /** The severity of a finding. */
    public enum Grade {
        /** No problem. */
        OK,
        /** Locks work, but a crash, a failover or another event may break their guarantees. */
        WARNING,
        /** Locks do not work. */
        PROBLEM
    }

    /**
     * Escapes unprintable characters in the texts.
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
     * Returns a finding that requires no action.
     *
     * @param observation what was observed
     * @return the finding
     */
    public static StoreFinding ok(String observation) {
        return new StoreFinding(Grade.OK, observation, "");
    }

    /**
     * Returns a finding that should be fixed at some time.
     *
     * @param observation what was observed
     * @param remedy what to do
     * @return the finding
     */
    public static StoreFinding warning(String observation, String remedy) {
        return new StoreFinding(Grade.WARNING, observation, remedy);
    }
}
