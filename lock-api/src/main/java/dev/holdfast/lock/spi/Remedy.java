package dev.holdfast.lock.spi;

/**
 * The meaning of a store client's failure, as a backend reports it to its {@link FailureTranslator}. Immutable.
 *
 * <p>Texts name neither the lock, which the engine adds, nor the operation, which the translator adds. They have no full stop
 * and never contain a secret.
 */
public sealed interface Remedy {

    /**
     * The outcome is unknown, and a retry may help: a {@link dev.holdfast.lock.LockUnavailableException}.
     *
     * @param observation what was observed, such as {@code no answer from Redis in time}
     * @param remedy what to do, such as {@code check whether the cluster has a leader}
     */
    record Unavailable(String observation, String remedy) implements Remedy {}

    /**
     * The store refuses the request until the user corrects something: a {@link
     * dev.holdfast.lock.LockConfigurationException}.
     *
     * @param observation what was observed, such as {@code Redis refuses it: NOAUTH}
     * @param remedy what to correct, such as {@code put the password into the URI}
     */
    record Configuration(String observation, String remedy) implements Remedy {}

    /**
     * The failure needs no explanation, or does not come from the store; it is reported unchanged.
     *
     * @param failure the exception to report
     */
    record PassThrough(RuntimeException failure) implements Remedy {}
}
