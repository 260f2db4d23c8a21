package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options for the store. */
final class StoreOptions {
    static final String VARIABLE = "HOLDFAST_STORE";

    @Option(
            names = "--store",
            paramLabel = "URI",
            description = {
                "The store's address: redis:, etcd:, zookeeper:, consul:, memcached:, jdbc: or memory:.",
                "Default: the variable HOLDFAST_STORE, which other users cannot see in the list of processes."
            })
    private @Nullable String uri;

    @Option(
            names = "--who",
            paramLabel = "TEXT",
            description =
                    "Shown to others as the holder, in addition to host and process id. Default: the user's name.")
    private @Nullable String who;

    @Option(
            names = "--timeout",
            paramLabel = "DUR",
            defaultValue = "3s",
            description =
                    "How long the store may take to answer a request; the first connection may take up to five times that."
                            + " Below a third of the lease a renewal without an answer can be repeated."
                            + " Default: ${DEFAULT-VALUE}.")
    private Duration timeout = LockClientOptions.defaults().requestTimeout();

    @Option(
            names = {"-v", "--verbose"},
            description = "Show the log of the lock client on standard error; twice: with details.")
    private boolean[] verbose = {};

    /** Sets the log level of the lock client and the store's client; call it before any logging. */
    void applyVerbosity() {
        if (verbose.length > 0) {
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", verbose.length > 1 ? "debug" : "info");
            System.clearProperty("java.util.logging.config.class");
        }
    }

    String uri() {
        String chosen = uri == null ? System.getenv(VARIABLE) : uri;
        if (chosen == null || chosen.isBlank()) {
            throw new UsageException("no store: give --store URI, or set " + VARIABLE);
        }
        return chosen;
    }

    LockClient connect() {
        return connect(uri());
    }

    /** The default lease of the client is that of the lock, because the session of ZooKeeper depends on it. */
    LockClient connect(LockOptions lock) {
        LockClientOptions.Builder options = clientOptions();
        try {
            return LockClient.connect(uri(), options.lockOptions(lock).build());
        } catch (IllegalArgumentException leaseOrAddress) {
            return connect(uri()); // a lease that the store refuses is reported by the lock, with its name
        }
    }

    LockClient connect(String address) {
        return LockClient.connect(address, clientOptions().build());
    }

    private LockClientOptions.Builder clientOptions() {
        String user = System.getProperty("user.name", "");
        LockClientOptions.Builder options = LockClientOptions.builder().who(who == null ? user : who);
        try {
            return options.requestTimeout(timeout);
        } catch (IllegalArgumentException e) {
            throw new UsageException("--timeout " + DurationText.of(timeout) + " must be more than nothing");
        }
    }
}
