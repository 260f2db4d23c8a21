package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options for the store. */
final class StoreOptions {
    static final String VARIABLE = "HOLDFAST_STORE";

    @Option(
            names = "--store",
            paramLabel = "URI",
            description = {
                "The store's address: redis:, etcd:, zookeeper:, consul:, memcached: or jdbc:.",
                "Other users see it in the list of processes. Default: --store-file, or the variable HOLDFAST_STORE."
            })
    private @Nullable String uri;

    @Option(
            names = "--store-file",
            paramLabel = "FILE",
            description =
                    "A file whose first line is the store's address. Others than its owner and group must not be able to read it.")
    private @Nullable Path file;

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
            // Loggers of the wire would print passwords, so only our own give details.
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "info");
            System.setProperty("org.slf4j.simpleLogger.log.dev.holdfast", verbose.length > 1 ? "debug" : "info");
            System.clearProperty("java.util.logging.config.class");
        }
    }

    String uri() {
        if (uri != null && file != null) {
            throw new UsageException("give --store or --store-file, not both");
        }
        String chosen = uri != null ? uri : file != null ? StoreFile.read(file) : System.getenv(VARIABLE);
        if (chosen == null || chosen.isBlank()) {
            throw new UsageException("no store: give --store URI or --store-file FILE, or set " + VARIABLE);
        }
        refuseMemory(chosen);
        return chosen;
    }

    /** Such a store ends with this process, so two commands would never meet. */
    private static void refuseMemory(String address) {
        String lower = address.toLowerCase(Locale.ROOT);
        if (lower.startsWith("memory:") || lower.startsWith("jdbc:h2:mem:")) {
            throw new LockConfigurationException(
                    "the store " + lower.substring(0, lower.indexOf(':', lower.startsWith("jdbc") ? 9 : 0) + 1)
                            + " is the memory of one process, so it locks nothing between two commands; name a server, or a file of H2");
        }
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
        refuseMemory(address);
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
