package dev.holdfast.lock.testkit.support;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

/** What a lock client does whose application has closed the store's client before it: five locks are held. */
public final class ClosedEarly {
    private static final Duration REQUEST = Duration.ofSeconds(6);
    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(REQUEST).build();

    private ClosedEarly() {}

    /**
     * Checks that closing returns at once, and that all loggers together say one line.
     *
     * @param client makes the lock client, with these options
     * @param theirs closes the application's own client
     * @param line what the line must say
     * @throws Exception as closing it does
     */
    public static void check(Function<LockClientOptions, LockClient> client, AutoCloseable theirs, String... line)
            throws Exception {
        assertThat(warnings(client, theirs)).singleElement().asString().contains(line);
    }

    /**
     * Checks that closing returns at once. For a lock client that may find the losses before it is closed.
     *
     * @param client makes the lock client, with these options
     * @param theirs closes the application's own client
     * @return what all loggers together say
     * @throws Exception as closing it does
     */
    public static List<String> warnings(Function<LockClientOptions, LockClient> client, AutoCloseable theirs)
            throws Exception {
        LockClient locks = client.apply(OPTIONS);
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            held.add(locks.lock("early-" + UUID.randomUUID()).acquire());
        }
        List<String> warnings;
        try (LogCapture log = new LogCapture()) {
            theirs.close();
            long startNanos = System.nanoTime();
            locks.close();
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                    .as("with a request time-out of %s", REQUEST)
                    .isLessThan(REQUEST);
            warnings = log.warnings();
        }
        assertThat(held).noneMatch(Lease::isValid);
        return warnings;
    }
}
