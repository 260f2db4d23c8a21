package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The values of a builder, and their effect. */
final class MemcachedLocksTest {
    private final ScriptedMemcached memcached = new ScriptedMemcached();

    private MemcachedLocks.Builder builder() {
        return MemcachedLocks.builder(memcached.client());
    }

    @Test
    void builder_takesEachValueOnce() {
        LockClientOptions options = LockClientOptions.defaults();
        MemcachedLocks.Builder set = builder().options(options).prefix("shop");
        assertThatIllegalStateException()
                .isThrownBy(() -> set.options(options))
                .withMessageStartingWith("options was already set to ");
        assertThatIllegalStateException()
                .isThrownBy(() -> set.prefix("other"))
                .withMessage("prefix was already set to shop");
        assertThatIllegalArgumentException().isThrownBy(() -> builder().prefix("a b"));
        assertThatNullPointerException()
                .isThrownBy(() -> builder().options(null))
                .withMessage("options must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> MemcachedLocks.builder(null))
                .withMessage("client must not be null");
    }

    @Test
    void client_ofSeveralConnections_isRefused_andOfNoneIsNot() {
        memcached.connections(0); // while it connects
        builder();
        memcached.connections(2);
        assertThatIllegalArgumentException()
                .isThrownBy(this::builder)
                .withMessage("the client has 2 connections; locks need a client of one server with one connection");
    }

    @Test
    void client_hasTheOptionsAndThePrefix_orTheDefaults() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(40)).build())
                .build();
        try (LockClient client = builder().options(options).prefix("shop").build()) {
            assertThat(memcached.asked()).as("requests by building").isEmpty();
            assertThat(acquired(client)).isEqualTo("add shop:a 43");
        }
        try (LockClient client = builder().build()) {
            assertThat(acquired(client)).startsWith("add holdfast:a ");
        }
        assertThat(memcached.listeners()).as("listeners that are left").isZero();
    }

    private String acquired(LockClient client) throws InterruptedException {
        try (Lease lease = client.lock("a").acquire()) {
            assertThat(lease.isValid()).isTrue();
        }
        return memcached.asked().get(0);
    }

    @Test
    void provider_isForBothSchemes() {
        assertThat(new MemcachedLockProvider().schemes()).containsExactlyInAnyOrder("memcached", "memcacheds");
    }
}
