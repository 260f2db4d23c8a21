package dev.holdfast.examples.sale;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A worker process's settings. They travel in the environment, not on the command line, because the backend's URI
 * may hold a password.
 *
 * @param shop the shop's database URL
 * @param backend the lock store's URI, or null to sell without a lock
 * @param lock the lock's name
 * @param threads sellers in one process
 * @param thinkMicros how long a seller thinks between reading and writing
 * @param leaseMillis the lock's lease
 */
record SaleConfig(String shop, @Nullable String backend, String lock, int threads, long thinkMicros, long leaseMillis) {

    private static final String PREFIX = "HOLDFAST_SALE_";

    Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>();
        environment.put(PREFIX + "SHOP", shop);
        environment.put(PREFIX + "LOCK", lock);
        environment.put(PREFIX + "THREADS", Integer.toString(threads));
        environment.put(PREFIX + "THINK_MICROS", Long.toString(thinkMicros));
        environment.put(PREFIX + "LEASE_MILLIS", Long.toString(leaseMillis));
        if (backend != null) {
            environment.put(PREFIX + "BACKEND", backend);
        }
        return environment;
    }

    static SaleConfig read(Map<String, String> environment) {
        return new SaleConfig(
                required(environment, "SHOP"),
                environment.get(PREFIX + "BACKEND"),
                required(environment, "LOCK"),
                Integer.parseInt(required(environment, "THREADS")),
                Long.parseLong(required(environment, "THINK_MICROS")),
                Long.parseLong(required(environment, "LEASE_MILLIS")));
    }

    private static String required(Map<String, String> environment, String name) {
        return Objects.requireNonNull(
                environment.get(PREFIX + name), "started by FlashSale only: " + PREFIX + name + " is not set");
    }
}
