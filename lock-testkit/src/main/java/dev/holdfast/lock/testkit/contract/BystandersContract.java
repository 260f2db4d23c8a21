package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.HouseReport;
import dev.holdfast.lock.testkit.support.BlockedLog;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Rule S6: the trouble of one name, caller, listener, callback or log line costs the client no other lock. */
public abstract class BystandersContract extends ClientGroup {
    private static final int BYSTANDERS = 20;
    private static final int WAITERS = 1_000;
    private static final Duration MIN_LEASE = Duration.ofSeconds(2);
    private static final Duration WAIT = Duration.ofMillis(400);
    /** More than the client has threads for stages while none is blocked. */
    private static final int BLOCKED_STAGES = 5;

    public BystandersContract(ContractContext context) {
        super(context);
    }

    @Test
    @House("scale:waiters")
    @DisplayName(
            "are kept while other names have a thousand waiters, blocked listeners, stages and logs, Errors and cancelled calls")
    void troubleOfOtherNames_costsNoLock() throws Exception {
        Duration lease = fixture().shortLease().compareTo(MIN_LEASE) < 0
                ? MIN_LEASE
                : fixture().shortLease();
        PauseMeter.judge(lease, () -> keepsBystanders(lease));
    }

    private void keepsBystanders(Duration lease) throws Exception {
        HouseReport.reset();
        try (LockClient client = fixture().newClient(LockClientOptions.defaults());
                BystanderLocks bystanders = BystanderLocks.hold(client, BYSTANDERS, lease)) {
            try (Trouble trouble = new Trouble(client, lease)) {
                long endNanos = System.nanoTime() + lease.multipliedBy(2).toNanos();
                trouble.begin();
                trouble.wavesUntil(endNanos);
            }
            System.out.println("bystanders of " + fixture().name() + ": lease " + lease.toMillis()
                    + " ms, the longest time without a confirmed renewal "
                    + bystanders.oldestRenewal().toMillis() + " ms");
            bystanders.assertHeld();
        }
    }

    /** Callers that wait for one name at once. */
    private record Crowd(int waiters, Function<Duration, CompletionStage<? extends Lease>> call) {}

    /** All that happens to other names of the client, until it is closed. */
    private final class Trouble implements AutoCloseable {
        final LockClient client;
        final Duration lease;
        final CountDownLatch end = new CountDownLatch(1);
        final CountDownLatch interrupted = new CountDownLatch(1);
        final Optional<BlockedLog> log = fixture().canBlockLog() ? Optional.of(new BlockedLog()) : Optional.empty();
        final List<Lease> others = new ArrayList<>();
        final List<Crowd> crowds = new ArrayList<>();
        final String busy = newName();

        Trouble(LockClient client, Duration lease) {
            this.client = client;
            this.lease = lease;
        }

        void begin() throws InterruptedException {
            client.addListener(failing()); // the line about it blocks the log
            client.addListener(blocking());
            for (int i = 0; i < BLOCKED_STAGES; i++) {
                stage(this::block);
            }
            stage(got -> {
                throw new AssertionError("a stage that fails on purpose");
            });
            Lease doomed = client.lock(newName(), leaseOf(lease, Renewal.NONE)).acquire();
            doomed.lost().thenAccept(this::block);

            startThreadWhoseInterruptBlocks();

            others.add(second().lock(busy).acquire());
            crowds.add(new Crowd(WAITERS, client.lock(busy)::acquireAsync));
            if (fixture().demands().contains(Demand.Kind.SHARED)) {
                String name = newName();
                others.add(second().readWriteLock(name).writeLock().acquire());
                crowds.add(new Crowd(WAITERS, client.readWriteLock(name).readLock()::acquireAsync));
            }
            if (fixture().demands().contains(Demand.Kind.PERMITS)) {
                String name = newName();
                others.add(second().semaphore(name, 1).acquire());
                crowds.add(new Crowd(WAITERS, wait -> client.semaphore(name, 1).acquireAsync(1, wait)));
            }
            log.ifPresent(blocked -> Waits.until("the log blocks", () -> blocked.blocked() > 0));
        }

        /** Its lease is lost, which the client reports by an interrupt. */
        private void startThreadWhoseInterruptBlocks() {
            DistributedLock lock = client.lock(
                    newName(),
                    LockOptions.builder()
                            .lease(lease)
                            .renewal(Renewal.NONE)
                            .interruptOnLoss(true)
                            .build());
            Runnable held = () -> {
                lock.lock();
                block(lock);
            };
            Thread thread = new Thread(held, "thread whose interrupt blocks") {
                @Override
                public void interrupt() {
                    interrupted.countDown();
                    block(lock);
                }
            };
            thread.setDaemon(true);
            thread.start();
        }

        /** Runs a stage on a thread of the client. */
        private void stage(Consumer<Lease> stage) throws InterruptedException {
            String name = newName();
            try (Lease before = second().lock(name).acquire()) {
                client.lock(name).acquireAsync(PATIENCE).thenAccept(stage);
            }
        }

        /**
         * Waiters come; one half of them is cancelled, the time of the others passes. That goes on until the interrupt that blocks
         * has come: where crowds take all connections, its thread acquires late.
         */
        void wavesUntil(long endNanos) throws Exception {
            long lastNanos = endNanos + PATIENCE.toNanos();
            while (System.nanoTime() - endNanos < 0
                    || interrupted.getCount() > 0 && System.nanoTime() - lastNanos < 0) {
                for (Crowd crowd : crowds) {
                    List<CompletableFuture<? extends Lease>> wave = wave(crowd, WAIT);
                    for (int i = 0; i < wave.size(); i += 2) {
                        wave.get(i).cancel(false);
                    }
                    awaitAll(wave);
                }
            }
            assertThat(interrupted.getCount())
                    .as("interrupts that are still to come")
                    .isZero();
            List<CompletableFuture<? extends Lease>> served = wave(crowds.get(0), PATIENCE);
            others.remove(0).close();
            awaitAll(served);
            assertThat(served)
                    .as("waiters once the lock is free")
                    .noneMatch(CompletableFuture::isCompletedExceptionally);
        }

        private List<CompletableFuture<? extends Lease>> wave(Crowd crowd, Duration wait) {
            List<CompletableFuture<? extends Lease>> wave = new ArrayList<>();
            for (int i = 0; i < crowd.waiters; i++) {
                CompletableFuture<? extends Lease> waiter =
                        crowd.call.apply(wait).toCompletableFuture();
                waiter.thenAccept(Lease::close);
                wave.add(waiter);
            }
            return wave;
        }

        private void awaitAll(List<? extends CompletableFuture<?>> wave) throws Exception {
            CompletableFuture.allOf(wave.toArray(CompletableFuture<?>[]::new))
                    .handle((done, failure) -> done)
                    .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        }

        private LockListener failing() {
            AtomicBoolean failed = new AtomicBoolean();
            return new LockListener() {
                @Override
                public void attempted(String name) {
                    if (!failed.getAndSet(true)) {
                        throw new AssertionError("a listener that fails on purpose");
                    }
                }
            };
        }

        private LockListener blocking() {
            return new LockListener() {
                @Override
                public void attempted(String name) {
                    block(name);
                }
            };
        }

        private void block(Object ignored) {
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void close() {
            end.countDown();
            log.ifPresent(BlockedLog::close);
            others.forEach(Lease::close);
        }
    }
}
