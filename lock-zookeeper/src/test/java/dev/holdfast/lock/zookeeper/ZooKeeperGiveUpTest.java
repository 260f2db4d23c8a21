package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A waiter that gives up leaves no node: immediately, or as soon as its client is connected again. */
class ZooKeeperGiveUpTest {
    private static final Duration AT_ONCE = Duration.ofSeconds(4);
    private static final String NAME = "given up";

    private static ZooKeeperFixture fixture;
    private LockClient holder;
    private LockClient waiter;
    private Lease held;

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    @BeforeEach
    void hold() throws Exception {
        LockOptions lease = LockOptions.builder().lease(Duration.ofSeconds(15)).build();
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(5))
                .lockOptions(lease)
                .build();
        holder = LockEngine.client(fixture.directBackend(), options);
        waiter = LockEngine.client(fixture.newBackend(30_000), options);
        held = holder.lock(NAME).acquire();
    }

    @AfterEach
    void release() {
        fixture.heal();
        held.close();
        waiter.close();
        holder.close();
    }

    private static void awaitEntries(int count, Duration atMost) {
        await().atMost(atMost).pollInterval(Duration.ofMillis(10)).until(() -> fixture.entries(NAME) == count);
    }

    @Test
    @DisplayName("A wait that ends by time-out leaves no node")
    void timedOut_nodeGoesAtOnce() throws Exception {
        assertThat(waiter.lock(NAME).tryAcquire(Duration.ofSeconds(6))).isEmpty();
        awaitEntries(1, AT_ONCE);
    }

    @Test
    @DisplayName("A wait that is cancelled leaves no node")
    void cancelled_nodeGoesAtOnce() {
        CompletableFuture<Lease> waiting = waiter.lock(NAME).acquireAsync(Duration.ofMinutes(1));
        awaitEntries(2, PATIENCE);
        waiting.cancel(true);
        awaitEntries(1, AT_ONCE);
    }

    @Test
    @DisplayName("A wait that is interrupted leaves no node")
    void interrupted_nodeGoesAtOnce() throws Exception {
        FutureTask<Lease> waiting = new FutureTask<>(() -> waiter.lock(NAME).acquire());
        Thread thread = new Thread(waiting, "interrupted");
        thread.start();
        awaitEntries(2, PATIENCE);
        thread.interrupt();
        assertThatThrownBy(() -> waiting.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(InterruptedException.class);
        awaitEntries(1, AT_ONCE);
    }

    @Test
    @DisplayName("A wait that is cancelled while the client is cut off leaves no node once it is connected again")
    void cancelled_cutOff_nodeGoesAfterReconnect() {
        CompletableFuture<Lease> waiting = waiter.lock(NAME).acquireAsync(Duration.ofMinutes(1));
        awaitEntries(2, PATIENCE);
        fixture.partition();
        await().atMost(PATIENCE).until(() -> !isConnected());
        waiting.cancel(true);
        assertThat(waiting).isCancelled();
        fixture.heal();
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(10)).until(this::isConnected);
        awaitEntries(1, AT_ONCE);
    }

    private boolean isConnected() {
        try {
            return waiter.holder(NAME).isPresent();
        } catch (LockUnavailableException e) {
            return false;
        }
    }
}
