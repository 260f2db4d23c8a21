package dev.holdfast.examples.election;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/**
 * A candidate's settings. They travel in the environment, because the backend's URI may hold a password.
 *
 * @param backend the lock store's URI
 * @param election the election's name
 * @param leaseMillis the lease of a leader
 * @param ledger the URL of the {@link Ledger}'s database
 */
record CandidateConfig(String backend, String election, long leaseMillis, String ledger) {

    /** JVMs that all start at once on a busy machine are slow at first. */
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

    private static final String PREFIX = "HOLDFAST_ELECTION_";

    LockClient connect() {
        return LockClient.connect(
                backend,
                LockClientOptions.builder().requestTimeout(REQUEST_TIMEOUT).build());
    }

    LockOptions options() {
        return LockOptions.builder().lease(Duration.ofMillis(leaseMillis)).build();
    }

    Map<String, String> environment() {
        return Map.of(
                PREFIX + "BACKEND", backend,
                PREFIX + "NAME", election,
                PREFIX + "LEASE_MILLIS", Long.toString(leaseMillis),
                PREFIX + "LEDGER", ledger);
    }

    static CandidateConfig read(Map<String, String> environment) {
        return new CandidateConfig(
                required(environment, "BACKEND"),
                required(environment, "NAME"),
                Long.parseLong(required(environment, "LEASE_MILLIS")),
                required(environment, "LEDGER"));
    }

    private static String required(Map<String, String> environment, String name) {
        return Objects.requireNonNull(
                environment.get(PREFIX + name), "started by ElectionDemo only: " + PREFIX + name + " is not set");
    }
}
