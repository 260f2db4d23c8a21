package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A requestTimeout that is longer than a lease is reported, once a client. */
final class HastyLeaseTest {
    private static final LockOptions SHORT =
            LockOptions.builder().lease(Duration.ofSeconds(2)).build();

    @Test
    void defaultLease_isTold_atBuild() {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(16))
                .build();
        try (LogCapture log = new LogCapture();
                LockClient client = MemoryStore.named("hasty").newClient(options)) {
            client.lock("x", SHORT);
            assertThat(log.warnings())
                    .singleElement()
                    .asString()
                    .contains("requestTimeout (16000 ms) is longer than a lease (15000 ms)");
        }
    }

    @Test
    void leaseOfOneLock_isTold_once() {
        try (LogCapture log = new LogCapture();
                LockClient client = MemoryStore.named("hasty").newClient(LockClientOptions.defaults())) {
            assertThat(log.warnings()).isEmpty();
            client.lock("x", SHORT);
            client.lock("y", SHORT);
            assertThat(log.warnings()).singleElement().asString().contains("(3000 ms)", "(2000 ms)");
        }
    }

    @Test
    void leaseAsLongAsTheTimeout_isFine() {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(15))
                .build();
        try (LogCapture log = new LogCapture();
                LockClient client = MemoryStore.named("hasty").newClient(options)) {
            assertThat(client.held()).isEmpty();
            assertThat(log.warnings()).isEmpty();
        }
    }
}
