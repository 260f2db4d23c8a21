package dev.holdfast.lock.spi;

/**
 * What a failure of a store's client means, as a backend says it to its {@link FailureTranslator}. Immutable.
 *
 * <p>Texts name neither the lock, which the engine does, nor the operation, which the translator does. They have no full
 * stop and never contain a secret.
 */
public sealed interface Remedy {

    /**
     * The outcome is unknown, and trying again may help: a {@link dev.holdfast.lock.LockUnavailableException}.
     *
     * @param observation what was observed, such as {@code no answer from Redis in time}
     * @param remedy what to do, such as {@code see whether the cluster has a leader}
     */
    record Unavailable(String observation, String remedy) implements Remedy {}

    /**
     * The store refuses the request until the user has mended something: a
     * {@link dev.holdfast.lock.LockConfigurationException}.
     *
     * @param observation what was observed, such as {@code Redis refuses it: NOAUTH}
     * @param remedy what to mend, such as {@code put the password into the URI}
     */
    record Configuration(String observation, String remedy) implements Remedy {}

    /**
     * The failure says everything by itself, or is not of the store: it is reported as it is.
     *
     * @param failure the exception to report
     */
    record PassThrough(RuntimeException failure) implements Remedy {}
}
