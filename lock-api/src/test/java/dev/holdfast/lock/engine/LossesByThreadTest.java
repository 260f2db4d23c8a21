package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A thread's loss is kept with its lock until it was reported to the thread, or the thread has died. */
class LossesByThreadTest {
    private final Virtual virtual = new Virtual();

    private void lose(DistributedLock lock) {
        virtual.client.entries().lost(virtual.grantHere(lock.name()), LossReason.EXPIRED, "on purpose");
    }

    @Test
    void lostHolds_ofTwoNames_areEachToldByTheirOwnUnlock() {
        DistributedLock one = virtual.client.lock("one");
        DistributedLock two = virtual.client.lock("two");
        one.lock();
        two.lock();
        lose(one);
        lose(two);

        assertThatThrownBy(one::unlock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(two::tryLock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(two::unlock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(two::unlock).isInstanceOf(IllegalMonitorStateException.class);
        virtual.pass(Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @Test
    void lostHolds_ofTwoThreadsOnOneName_areToldToEach() throws InterruptedException {
        DistributedLock lock = virtual.client.lock("n");
        lock.lock();
        lose(lock);
        virtual.pass(Virtual.SECOND);
        List<Throwable> reported = new ArrayList<>();
        Thread other = new Thread(() -> {
            lock.lock();
            lose(lock);
            reported.add(catchThrowable(lock::unlock));
        });
        other.start();
        other.join();
        assertThat(reported).singleElement().isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void lostHold_leavesTheLockToOthersMeanwhile() {
        DistributedLock lock = virtual.client.lock("n");
        lock.lock();
        lose(lock);
        virtual.pass(Virtual.SECOND);
        Hold other = virtual.hold("n", LockOptions.defaults());
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(other.state).isEqualTo(Hold.State.HELD);
    }

    @Test
    void lostHold_ofAThreadThatHasDied_isForgotten() throws InterruptedException {
        Thread thread = new Thread(() -> {
            DistributedLock lock = virtual.client.lock("n");
            lock.lock();
            lose(lock);
        });
        thread.start();
        thread.join();
        virtual.pass(Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isFalse();

        virtual.pass(20 * Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** The next check would find nothing, and a client with thousands of names has thousands of checks. */
    @Test
    void lossThatWasTold_orThatNobodyIsLeftToBeToldOf_isNotLookedAtAgain() throws InterruptedException {
        SimWorld world = new SimWorld(1);
        SimWorld.Machine machine = world.new Machine(1);
        Housekeeper housekeeper = new Housekeeper(machine, machine.runtime().timer(), now -> Housekeeper.NEVER);
        DeadOwners deadOwners = new DeadOwners(housekeeper, machine.nanos());
        LossesByThread losses = new LossesByThread(new StateMutex(() -> {}), deadOwners);
        long later = machine.nanos() + 60 * Virtual.SECOND;

        virtual.client.lock("reported").lock();
        Hold reported = virtual.holdHere("reported");
        losses.add(reported);
        losses.remove(reported);
        assertThat(deadOwners.run(later)).isEqualTo(Housekeeper.NEVER);

        Thread thread = new Thread(() -> {
            virtual.client.lock("left").lock();
            losses.add(virtual.holdHere("left"));
        });
        thread.start();
        thread.join();
        assertThat(deadOwners.run(later)).as("this check drops it").isNotEqualTo(Housekeeper.NEVER);
        assertThat(losses.isEmpty()).isTrue();
        assertThat(deadOwners.run(later + 60 * Virtual.SECOND)).isEqualTo(Housekeeper.NEVER);
    }
}
