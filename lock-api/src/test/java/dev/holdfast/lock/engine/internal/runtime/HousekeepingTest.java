package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.hold.DeadOwnerDetector;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client's periodic checks, the requests that its close waits for, and that its transitions leave nothing behind. */
@Timeout(30)
class HousekeepingTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    // ---- losses of dead threads

    private final List<Long> looks = new ArrayList<>();
    private final DeadOwnerDetector deadOwners =
            new DeadOwnerDetector(new Housekeeper(machine, machine.runtime().timer(), this::look), machine.nanos());

    private long look(long nowNanos) {
        return deadOwners.run(nowNanos);
    }

    @Test
    void losses_areLookedAtEveryTenSeconds_whileThereAreAny() {
        DeadOwnerDetector.Losses losses = () -> looks.add(world.now() / SECOND);
        long start = world.now() / SECOND;
        deadOwners.watch(losses);
        pass(35 * SECOND);
        assertThat(looks).containsExactly(start + 10, start + 20, start + 30);
        deadOwners.unwatch(losses);
        pass(60 * SECOND);
        assertThat(looks).hasSize(3);
        assertThat(deadOwners.run(machine.nanos())).isEqualTo(Housekeeper.NEVER);
    }

    @Test
    void losses_areNotLookedAtMoreOften_howeverOftenTheHousekeeperRuns() {
        deadOwners.watch(() -> looks.add(world.now() / SECOND));
        long start = machine.nanos();
        assertThat(deadOwners.run(start)).as("the first check is due").isEqualTo(10 * SECOND);
        assertThat(deadOwners.run(start + SECOND)).isEqualTo(9 * SECOND);
        assertThat(deadOwners.run(start + 10 * SECOND - 1)).isEqualTo(1);
        assertThat(looks).hasSize(1);
        assertThat(deadOwners.run(start + 10 * SECOND)).isEqualTo(10 * SECOND);
        assertThat(looks).hasSize(2);
    }

    /** A client whose losses have all been reported does not wake up any more. */
    @Test
    void losses_thatWereTold_areNotLookedAt() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock("n");
        lock.lock();
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.EXPIRED, "on purpose");
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class).hasMessageContaining("on purpose");
        virtual.pass(21 * SECOND);
        assertThat(virtual.openTimers()).isZero();
    }

    // ---- pending requests

    @Test
    void idle_isWhenTheLastRequestHasEnded_byItsAnswerOrItsTime() {
        List<String> stalled = new ArrayList<>();
        List<InFlightRequests> swept = new ArrayList<>();
        InFlightRequests requests = new InFlightRequests(
                machine,
                new Housekeeper(
                        machine, machine.runtime().timer(), now -> swept.get(0).sweep(now)));
        swept.add(requests);
        assertThat(requests.isIdle()).isTrue();
        assertThat(requests.whenIdle()).isCompleted();
        InFlightRequests.Request first = requests.begin(SECOND, () -> stalled.add("first"));
        InFlightRequests.Request second = requests.begin(SECOND, () -> stalled.add("second"));
        InFlightRequests.Request open = requests.begin();
        assertThat(first).isEqualTo(first).isNotEqualTo(second).isNotEqualTo(null);
        assertThat(second.hashCode()).as("by the clock and in order").isEqualTo(first.hashCode() + 1);
        assertThat(requests.isIdle()).isFalse();
        CompletableFuture<Void> idle = requests.whenIdle();
        first.end();
        first.end();
        pass(SECOND - 1);
        assertThat(stalled).isEmpty();
        pass(1);
        assertThat(stalled).containsExactly("second");
        second.end();
        assertThat(idle).isNotDone();
        open.end();
        assertThat(idle).isCompleted();
        assertThat(requests.isIdle()).isTrue();
    }

    /** Regardless of which started first, and of the order in which they are checked. */
    @Test
    void nextLook_isWhenTheFirstOfAllMayStall() {
        for (int count = 2; count < 20; count++) {
            InFlightRequests requests = new InFlightRequests(
                    machine, new Housekeeper(machine, machine.runtime().timer(), now -> Housekeeper.NEVER));
            for (int i = count; i > 0; i--) {
                requests.begin(i * SECOND, () -> {});
            }
            assertThat(requests.sweep(machine.nanos())).isEqualTo(SECOND);
            assertThat(requests.sweep(machine.nanos() + SECOND)).isEqualTo(SECOND);
        }
    }

    @Test
    void idle_isWhenTheLastOneHasStalled() {
        List<InFlightRequests> swept = new ArrayList<>();
        InFlightRequests requests = new InFlightRequests(
                machine,
                new Housekeeper(
                        machine, machine.runtime().timer(), now -> swept.get(0).sweep(now)));
        swept.add(requests);
        requests.begin(SECOND, () -> {});
        requests.begin(3 * SECOND, () -> {});
        CompletableFuture<Void> idle = requests.whenIdle();
        pass(2 * SECOND);
        assertThat(idle).isNotDone();
        pass(SECOND);
        assertThat(idle).isCompleted();
    }

    // ---- transitions

    /** The effects of three threads overlap and end in every order: no later effect of a thread is lost. */
    @Test
    void effects_ofThreadsThatOverlap_areAllRun() throws InterruptedException {
        for (String order : List.of("0 1 2", "0 2 1", "1 0 2", "1 2 0", "2 0 1", "2 1 0")) {
            StateMutex mutex = new StateMutex(() -> {});
            List<String> done = java.util.Collections.synchronizedList(new ArrayList<>());
            Thread[] threads = new Thread[3];
            CountDownLatch[] goOn = new CountDownLatch[3];
            CountDownLatch[] ended = new CountDownLatch[3];
            CountDownLatch again = new CountDownLatch(1);
            for (int i = 0; i < 3; i++) {
                String name = "thread " + i;
                CountDownLatch begun = new CountDownLatch(1);
                CountDownLatch mine = new CountDownLatch(1);
                CountDownLatch over = new CountDownLatch(1);
                goOn[i] = mine;
                ended[i] = over;
                threads[i] = new Thread(() -> {
                    mutex.run(() -> mutex.afterUnlock(() -> {
                        begun.countDown();
                        await(mine);
                    }));
                    over.countDown();
                    await(again);
                    mutex.run(() -> mutex.afterUnlock(() -> done.add(name)));
                });
                threads[i].start();
                await(begun);
            }
            for (String next : order.split(" ")) {
                goOn[Integer.parseInt(next)].countDown();
                await(ended[Integer.parseInt(next)]);
            }
            again.countDown();
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(done).as(order).containsExactlyInAnyOrder("thread 0", "thread 1", "thread 2");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
