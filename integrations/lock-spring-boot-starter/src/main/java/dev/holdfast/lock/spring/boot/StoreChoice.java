package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Decides which store has the locks: that of {@code holdfast.uri}, else the only one that the application has. */
final class StoreChoice {
    private StoreChoice() {}

    /**
     * Connects to a store.
     *
     * @param property what has the address
     * @param lockProperties where the client's lock options come from, which the store may refuse
     */
    static LockClient open(String property, String uri, String lockProperties, LockClientOptions options) {
        try {
            return LockClient.connect(uri, options);
        } catch (IllegalArgumentException e) {
            throw RefusedConfigurationException.of(
                    hasDefaults(options) ? property : property + " or " + lockProperties, e);
        }
    }

    static LockClient open(@Nullable Backend wanted, List<BackendCandidate> candidates, LockClientOptions options) {
        BackendCandidate chosen = choose(wanted, candidates);
        try {
            return chosen.open().apply(options);
        } catch (IllegalArgumentException e) {
            if (hasDefaults(options)) {
                throw e;
            }
            throw RefusedConfigurationException.of("holdfast.lock", e);
        }
    }

    private static boolean hasDefaults(LockClientOptions options) {
        return options.lockOptions().equals(LockOptions.defaults());
    }

    private static BackendCandidate choose(@Nullable Backend wanted, List<BackendCandidate> candidates) {
        if (wanted != null) {
            return candidates.stream()
                    .filter(candidate -> candidate.backend() == wanted)
                    .findFirst()
                    .orElseThrow(() -> new RefusedConfigurationException(
                            "holdfast.backend is " + wanted.property() + ", but the application has no "
                                    + wanted.beanType() + " bean, or no " + wanted.module() + " on its class path."
                                    + found(candidates),
                            "Add what is missing, or set holdfast.uri."));
        }
        if (candidates.isEmpty()) {
            throw new RefusedConfigurationException(
                    "No store for the locks: holdfast.uri is not set, and no backend module on the class path has a bean to"
                            + " use.",
                    "Set holdfast.uri and add the module of its scheme, or add one of "
                            + Arrays.stream(Backend.values())
                                    .map(backend -> backend.module() + " (uses the " + backend.beanType() + " bean)")
                                    .collect(Collectors.joining(", "))
                            + ". For tests: lock-memory and holdfast.uri=memory:.");
        }
        if (candidates.size() > 1) {
            throw new RefusedConfigurationException(
                    "Several stores could have the locks." + found(candidates),
                    "Set holdfast.backend to "
                            + candidates.stream()
                                    .map(candidate -> candidate.backend().property())
                                    .collect(Collectors.joining(" or "))
                            + ", or set holdfast.uri.");
        }
        return candidates.get(0);
    }

    private static String found(List<BackendCandidate> candidates) {
        return " Found: "
                + (candidates.isEmpty()
                        ? "none"
                        : candidates.stream().map(BackendCandidate::title).collect(Collectors.joining(", ")))
                + ".";
    }
}
