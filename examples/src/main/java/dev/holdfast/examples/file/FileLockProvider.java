package dev.holdfast.examples.file;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.engine.LockEngine;
import java.nio.file.Path;
import java.util.Set;

/** Serves {@code file:/path/of/the/folder}. Stateless and thread-safe. */
public final class FileLockProvider implements LockProvider {

    /** For {@link java.util.ServiceLoader}. */
    public FileLockProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("file");
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        String folder = uri.substring("file:".length());
        if (folder.isBlank()) {
            throw new IllegalArgumentException("the address names no folder; write it as file:/var/lock/app");
        }
        return LockEngine.client(new FileLockBackend(Path.of(folder)), options);
    }
}
