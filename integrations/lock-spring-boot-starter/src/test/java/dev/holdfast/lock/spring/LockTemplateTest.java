package dev.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.memory.MemoryStore;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Locks around code. */
class LockTemplateTest {
    private final MemoryStore store = MemoryStore.create();
    private final LockClient client = store.newClient(LockClientOptions.defaults());
    private final LockClient other = store.newClient(LockClientOptions.defaults());
    private final LockTemplate template = new LockTemplate(client);

    @AfterEach
    void close() {
        client.close();
        other.close();
    }

    @Test
    void execute_runsWithTheLock_byTwoRequests() {
        String name = template.execute("a", lease -> {
            assertThat(CurrentLease.require().token()).isEqualTo(lease.token());
            assertThat(template.<Long, RuntimeException>execute("a", Lease::token))
                    .isEqualTo(lease.token());
            return lease.name();
        });
        assertThat(name).isEqualTo("a");
        assertThat(store.commands()).isEqualTo(2);
        assertThat(template.<String, RuntimeException>tryExecute("a", lease -> "x"))
                .hasValue("x");
    }

    @Test
    void busy_throwsOrIsTold() throws InterruptedException {
        LockTemplate impatient = template.withWait(Duration.ZERO);
        try (Lease held = other.lock("a").acquire()) {
            assertThat(held.isValid()).isTrue();
            assertThatThrownBy(() -> impatient.run("a", lease -> {})).isInstanceOf(LockTimeoutException.class);
            assertThat(impatient.tryRun("a", lease -> {})).isFalse();
            assertThat(impatient.<String, RuntimeException>tryExecute("a", lease -> "x"))
                    .isEmpty();
            assertThatThrownBy(() -> impatient.executeAsync("a", lease -> new CompletableFuture<String>()))
                    .isInstanceOf(LockTimeoutException.class);
        }
        assertThat(impatient.tryRun("a", lease -> {})).isTrue();
    }

    @Test
    void exceptions_passAsTheyAre() {
        IOException own = new IOException();
        assertThatThrownBy(() -> template.run("a", lease -> {
                    throw own;
                }))
                .isSameAs(own);
        assertThatThrownBy(() -> template.run(" ", lease -> {})).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> template.withWait(Duration.ofSeconds(-1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(store.entries("a")).isZero();
    }

    @Test
    void interrupt_endsTheWait_andStaysSet() throws InterruptedException {
        try (Lease held = other.lock("a").acquire()) {
            assertThat(held.isValid()).isTrue();
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> template.run("a", lease -> {}))
                    .isInstanceOf(LockException.class)
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void executeAsync_holdsTheLock_untilTheWorkIsComplete() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = template.executeAsync("a", lease -> work);
        assertThat(other.lock("a").tryAcquire()).isEmpty();
        work.complete("x");
        assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo("x");
        assertThat(other.lock("a").tryAcquire()).isPresent();
    }

    @Test
    void options_areThoseThatWereGiven() {
        LockTemplate longer = template.withOptions(
                LockOptions.builder().lease(Duration.ofMinutes(2)).build());
        assertThat(longer.<Duration, RuntimeException>execute("a", Lease::remaining))
                .isBetween(Duration.ofSeconds(90), Duration.ofMinutes(2));
    }
}
