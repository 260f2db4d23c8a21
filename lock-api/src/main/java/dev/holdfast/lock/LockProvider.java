package dev.holdfast.lock;

import java.util.Set;

/**
 * Creates clients for the URI schemes of one backend; found by {@link java.util.ServiceLoader}.
 *
 * <p>Implementations have a public no-argument constructor, hold no state and are thread-safe.
 */
public interface LockProvider {

    /**
     * Returns the schemes that this provider supports.
     *
     * @return lower-case schemes without the colon, such as {@code redis} and {@code rediss}; never empty
     */
    Set<String> schemes();

    /**
     * Connects to the store at the given address.
     *
     * @param uri an address with one of {@link #schemes()}
     * @param options the client's options
     * @return an open client that owns its connection
     * @throws IllegalArgumentException if the URI is malformed; the message never repeats a password
     * @throws LockConfigurationException if the store refuses the credentials or lacks what the backend needs
     * @throws LockUnavailableException if the store cannot be reached within {@link LockClientOptions#requestTimeout()}
     */
    LockClient connect(String uri, LockClientOptions options);
}
