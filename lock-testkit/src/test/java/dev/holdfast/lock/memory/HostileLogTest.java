package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.HostileLog;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.HouseReport;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** An appender that throws or blocks, as on a full disk, costs no lock and no election. */
@House("process:logs")
class HostileLogTest {
    private static final Duration LEASE = Duration.ofMillis(600);

    private final MemoryStore store = MemoryStore.create();

    private static LockClientOptions options() {
        return LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(200))
                .unavailableTimeout(Duration.ofMillis(300))
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
    }

    @Test
    @DisplayName("A leader whose callback fails resigns, although the log throws")
    void callbackFails_logThrows_anotherProcessLeads() throws Exception {
        try (LockClient one = store.newClient(options());
                LockClient two = store.newClient(options());
                HostileLog log = HostileLog.throwing()) {
            CountDownLatch first = new CountDownLatch(1);
            CountDownLatch second = new CountDownLatch(1);
            try (Election failing = one.election("x")
                    .onElected(leadership -> {
                        first.countDown();
                        throw new IllegalStateException("an ordinary failure");
                    })
                    .start()) {
                assertThat(first.await(20, TimeUnit.SECONDS)).isTrue();
                try (Election next = two.election("x")
                        .onElected(leadership -> second.countDown())
                        .start()) { // not before, or it might be elected first
                    assertThat(second.await(20, TimeUnit.SECONDS)).isTrue();
                }
                Waits.until("the failure is logged", () -> log.lines() > 0);
            }
        }
    }

    @Test
    @DisplayName("A candidate survives an outage, although the log throws")
    void storeIsAway_logThrows_candidateStandsAgain() throws Exception {
        AtomicBoolean away = new AtomicBoolean(true);
        ForwardingBackend backend = new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return away.get() ? CompletableFuture.failedFuture(new UnreadableFailure()) : super.tryAcquire(request);
            }
        };
        try (LockClient client = LockEngine.client(backend, options());
                HostileLog log = HostileLog.throwing()) {
            CountDownLatch elected = new CountDownLatch(1);
            try (Election election = client.election("x")
                    .onElected(leadership -> elected.countDown())
                    .start()) {
                Waits.until("the outage is logged", () -> log.lines() > 0);
                away.set(false);
                assertThat(elected.await(20, TimeUnit.SECONDS)).isTrue();
            }
        }
    }

    @Test
    @DisplayName("A line that blocks for longer than a lease costs no other lock")
    void warningBlocks_otherLeaseIsKept() throws Exception {
        PauseMeter.judge(LEASE, this::keepsOthersWhileAWarningBlocks);
    }

    private void keepsOthersWhileAWarningBlocks() throws Exception {
        HouseReport.reset();
        try (LockClient client = store.newClient(options());
                BystanderLocks bystanders = BystanderLocks.hold(client, 20, LEASE);
                HostileLog log = HostileLog.blocking()) {
            Lease other = client.lock("other").acquire();
            store.expire("other");
            Waits.until("its loss is logged", () -> log.lines() > 0);
            long end = System.nanoTime() + 2 * LEASE.toNanos();
            while (System.nanoTime() < end) {
                LockSupport.parkNanos(10_000_000);
            }
            bystanders.assertHeld();
            assertThat(other.isValid()).isFalse();
        }
    }

    /** A failure of foreign code whose own methods fail. */
    private static final class UnreadableFailure extends RuntimeException {
        @Override
        public String getMessage() {
            throw new IllegalStateException("this failure has no text");
        }
    }
}
