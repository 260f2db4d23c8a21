package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Interrupts that report losses and do not return: they run code of a thread's class, and close the channel that it waits in. */
@Timeout(60)
class BlockedInterruptTest {
    /** All threads for interrupts, however many are blocked. */
    private static final int INTERRUPTS = 64;

    private static final LockOptions INTERRUPTING =
            LockOptions.builder().interruptOnLoss(true).build();

    private final CountDownLatch end = new CountDownLatch(1);
    private final CountDownLatch blocked = new CountDownLatch(INTERRUPTS);
    private final RevokingBackend backend = new RevokingBackend();
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), EngineRuntime.ofThreads()).start();

    @AfterEach
    void end() {
        end.countDown();
        client.close();
    }

    @Test
    void interruptsThatBlock_delayNoReportOfAnotherLoss() throws Exception {
        for (int i = 0; i < INTERRUPTS; i++) {
            Holder holder = new Holder(client.lock("blocks-" + i, INTERRUPTING));
            holder.setDaemon(true);
            holder.start();
            holder.held.await();
        }
        backend.revokeAll();
        blocked.await();
        Lease other = client.lock("other").acquire();
        CompletableFuture<LossReason> lost = other.lost().toCompletableFuture();

        backend.revokeAll();

        assertThat(lost.get(10, TimeUnit.SECONDS)).isEqualTo(LossReason.REVOKED);
    }

    /** Its grants end when the test says so. */
    private static final class RevokingBackend extends OutageBackend {
        private final Queue<Grant> grants = new ConcurrentLinkedQueue<>();
        private volatile @Nullable GrantListener listener;

        RevokingBackend() {
            super(false, false, System::nanoTime);
        }

        @Override
        public void setGrantListener(GrantListener ofTheClient) {
            listener = ofTheClient;
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            return super.tryAcquire(request).whenComplete((result, failure) -> {
                if (result instanceof AcquireResult.Granted granted) {
                    grants.add(granted.grant());
                }
            });
        }

        void revokeAll() {
            GrantListener ofTheClient = Objects.requireNonNull(listener);
            for (Grant grant = grants.poll(); grant != null; grant = grants.poll()) {
                ofTheClient.lost(grant, LossReason.REVOKED, "by the test");
            }
        }
    }

    private final class Holder extends Thread {
        private final DistributedLock lock;
        private final CountDownLatch held = new CountDownLatch(1);

        Holder(DistributedLock lock) {
            this.lock = lock;
        }

        @Override
        public void run() {
            lock.lock();
            held.countDown();
            awaitEnd();
        }

        @Override
        public void interrupt() {
            blocked.countDown();
            awaitEnd();
        }

        private void awaitEnd() {
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
