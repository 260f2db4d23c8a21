package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class HoldLimitsContract extends ClientGroup {

    public HoldLimitsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("ends a hold that takes too long with MAX_HOLD, and others get the lock")
    void maxHold_passed_isLost() throws Exception {
        String name = newName();
        Duration maxHold = Duration.ofMillis(300);
        DistributedLock lock =
                first().lock(name, LockOptions.builder().maxHold(maxHold).build());
        long startNanos = System.nanoTime();
        Lease lease = lock.acquire();

        assertThat(awaitLoss(lease)).isEqualTo(LossReason.MAX_HOLD);

        assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).as("held").isGreaterThanOrEqualTo(maxHold);
        assertThat(lease.isValid()).isFalse();
        assertThatThrownBy(lease::close)
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.reason()).isEqualTo(LossReason.MAX_HOLD));
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("counts the longest hold from the grant, whatever re-entries there are")
    void maxHold_reentry_isNotExtended() throws Exception {
        int reentries = 0;
        for (int tries = 0; tries < 4 && reentries == 0; tries++) { // none if the machine pauses meanwhile
            reentries = reenterUntilLost(Duration.ofMillis(300L << tries));
        }
        assertThat(reentries).isPositive();
    }

    private int reenterUntilLost(Duration maxHold) throws Exception {
        String name = newName();
        DistributedLock lock =
                first().lock(name, LockOptions.builder().maxHold(maxHold).build());
        try {
            lock.lock();
        } catch (LeaseLostException e) {
            return 0;
        }
        Lease held = lock.held().orElseThrow();
        int reentries = 0;
        try {
            while (!held.lost().toCompletableFuture().isDone()) {
                lock.lock();
                reentries++;
                lock.unlock();
            }
        } catch (LeaseLostException e) {
            assertThat(e.reason()).isEqualTo(LossReason.MAX_HOLD);
        }
        assertThat(awaitLoss(held)).isEqualTo(LossReason.MAX_HOLD);
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        return reentries;
    }

    @Test
    @DisplayName("keeps the lock taken for the shortest hold, though unlock returns at once")
    void minHold_releasedEarly_staysTaken() throws Exception {
        String name = newName();
        Duration minHold = Duration.ofMillis(2_500);
        DistributedLock lock =
                first().lock(name, LockOptions.builder().minHold(minHold).build());
        long startNanos = System.nanoTime();
        lock.lock();
        lock.unlock();
        boolean unlockWasPrompt = System.nanoTime() - startNanos < minHold.toNanos();
        boolean taken = second().lock(name).tryAcquire().isEmpty();
        boolean askedInTime = System.nanoTime() - startNanos < minHold.toNanos();
        assertThat(unlockWasPrompt)
                .as("unlock returned before the shortest hold was over")
                .isTrue();
        assertThat(taken || !askedInTime)
                .as("taken, if asked before the shortest hold was over")
                .isTrue();

        Lease next = second().lock(name).acquire(PATIENCE);

        assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                .as("time from before the first acquisition to the next grant")
                .isGreaterThanOrEqualTo(minHold.minusMillis(20));
        next.close();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    @DisplayName("ends a lock() whose thread has died with OWNER_DIED, and others get the lock")
    void ownerDied_lock_isLost() throws Exception {
        withGrowingLease(this::lostWithItsOwner);
    }

    private void lostWithItsOwner(Duration leaseLength) throws Exception {
        String name = newName();
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        Actor owner = actor();
        owner.run(() -> first().lock(name, leaseOf(leaseLength, Renewal.AUTO)).lock());

        owner.end();

        assertBecomesFree(name, PATIENCE.plus(leaseLength));
        Waits.untilMore(() -> recorder.count("lost", name), 0);
        assertThat(recorder.of(name).stream().filter(event -> event.kind().equals("lost")))
                .singleElement()
                .satisfies(event -> assertThat(event.detail()).isEqualTo(LossReason.OWNER_DIED.name()));
    }

    @Test
    @DisplayName("lets a waiter of the same client have the lock of a thread that has died")
    void ownerDied_sameClient_getsLock() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name, shortLease(Renewal.AUTO));
        Actor owner = actor();
        owner.run(lock::lock);

        owner.end();

        Optional<Lease> lease = lock.tryAcquire(PATIENCE);
        assertThat(lease).isPresent();
        lease.orElseThrow().close();
    }

    @Test
    @DisplayName("releases a lease that was dropped without being closed")
    void droppedLease_isReleased() throws Exception {
        String name = newName();
        drop(name);

        Lease next = awaitWithGarbageCollection(name);

        next.close();
    }

    /** A method of its own, so that no frame keeps the lease. */
    private void drop(String name) throws Exception {
        Actor owner = actor();
        owner.run(() -> assertThat(
                        first().lock(name, shortLease(Renewal.AUTO)).acquire().isValid())
                .isTrue());
        assertThat(second().lock(name).tryLock())
                .as("tryLock before the collection")
                .isFalse();
    }

    private Lease awaitWithGarbageCollection(String name) throws InterruptedException {
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < PATIENCE.toNanos()) {
            System.gc();
            Optional<Lease> lease = second().lock(name).tryAcquire(Duration.ofSeconds(1));
            if (lease.isPresent()) {
                return lease.orElseThrow();
            }
        }
        throw new AssertionError("the dropped lease of '" + name + "' was not released within "
                + TimeUnit.SECONDS.convert(PATIENCE) + " s of garbage collections");
    }
}
