package dev.holdfast.lock.engine;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spi.LockBackend;

/** Makes a {@link LockClient} of a {@link LockBackend}. */
public final class LockEngine {
    private LockEngine() {}

    /**
     * Makes a client. It owns the backend and closes it.
     *
     * @param backend the store
     * @param options the client's options
     * @return an open client
     */
    public static LockClient client(LockBackend backend, ClientOptions options) {
        throw new UnsupportedOperationException("under construction: " + backend + options);
    }
}
