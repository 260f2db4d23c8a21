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
     * @throws IllegalArgumentException if the default lease is shorter than the backend can keep
     */
    public static LockClient client(LockBackend backend, ClientOptions options) {
        EngineRuntime runtime = EngineRuntime.ofThreads();
        try {
            return new EngineClient(backend, options, runtime).start();
        } catch (RuntimeException e) {
            runtime.shutdown().run();
            backend.close();
            throw e;
        }
    }
}
