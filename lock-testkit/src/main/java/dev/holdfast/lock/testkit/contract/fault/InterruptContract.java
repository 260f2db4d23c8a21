package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class InterruptContract extends ClientGroup {

    public InterruptContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("before the call makes every interruptible form throw, without asking the server")
    void interrupted_before_throws() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        List<Callable<Object>> forms = List.of(
                () -> {
                    lock.lockInterruptibly();
                    return "locked";
                },
                () -> lock.tryLock(1, TimeUnit.SECONDS),
                lock::acquire,
                () -> lock.acquire(PATIENCE),
                () -> lock.tryAcquire(PATIENCE));
        for (Callable<Object> form : forms) {
            Actor actor = actor();
            CompletableFuture<Object> call = actor.start(() -> {
                Thread.currentThread().interrupt();
                return form.call();
            });
            assertThat(Actor.failure(call)).isInstanceOf(InterruptedException.class);
            assertThat(actor.call(Thread::interrupted))
                    .as("flag after the exception")
                    .isFalse();
        }
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isZero();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("ends the wait for another client, and the lock is nobody's once that client releases")
    void interrupted_waitingForOtherClient_throws() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        Actor waiter = actor();
        CompletableFuture<Lease> waiting = waiter.start(() -> first().lock(name).acquire());
        waiter.awaitBlocked();

        waiter.interrupt();

        assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
        assertThat(waiter.call(Thread::interrupted))
                .as("flag after the exception")
                .isFalse();
        assertThat(held.isValid()).isTrue();
        held.close();
        assertBecomesFree(name);
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("of the only waiter leaves nothing of it on the server")
    void interrupted_waiting_leavesNothing() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        long entries = fixture().entries(name);
        Actor waiter = actor();
        CompletableFuture<Boolean> waiting = waiter.start(first().lock(name)::lockInterruptibly);
        waiter.awaitBlocked();

        waiter.interrupt();

        assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
        assertEntries(name, entries);
        held.close();
        assertEntries(name, 0);
    }

    @Test
    @DisplayName("ends the wait for another thread of the client, and the others keep their order")
    void interrupted_inLocalQueue_leavesOthers() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        Actor one = actor();
        Actor two = actor();
        Actor three = actor();
        CompletableFuture<Lease> first = one.start(() -> lock.acquire());
        one.awaitBlocked();
        CompletableFuture<Lease> second = two.start(() -> lock.acquire());
        two.awaitBlocked();
        CompletableFuture<Lease> third = three.start(() -> lock.acquire());
        three.awaitBlocked();

        two.interrupt();
        assertThat(Actor.failure(second)).isInstanceOf(InterruptedException.class);
        lock.unlock();

        Lease ofFirst = Actor.result(first);
        assertThat(third).as("the third, while the first holds the lock").isNotDone();
        ofFirst.close();
        Actor.result(third).close();
    }

    @Test
    @DisplayName("does not end lock(), which sets the flag again when it has the lock")
    void interrupted_lock_goesOn() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        Lease held = second().lock(name).acquire();
        Actor waiter = actor();
        CompletableFuture<Boolean> waiting = waiter.start(() -> {
            lock.lock();
            return Thread.interrupted();
        });
        waiter.awaitBlocked();

        waiter.interrupt();
        waiter.awaitBlocked();
        assertThat(waiting).as("lock() after the interrupt").isNotDone();
        held.close();

        assertThat(Actor.result(waiting))
                .as("interrupt flag when lock() returned")
                .isTrue();
        assertThat(waiter.call(lock::isHeldByCurrentThread)).isTrue();
        waiter.run(lock::unlock);
    }

    @Test
    @DisplayName("before lock(), tryLock() and unlock() does not keep them from working, and the flag stays")
    void interrupted_uninterruptibleForms_workAndKeepFlag() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        boolean flag = actor().call(() -> {
            Thread.currentThread().interrupt();
            lock.lock();
            boolean kept = Thread.currentThread().isInterrupted();
            kept &= lock.tryLock() && Thread.currentThread().isInterrupted();
            lock.unlock();
            kept &= Thread.currentThread().isInterrupted();
            lock.unlock();
            return kept && Thread.interrupted();
        });
        assertThat(flag).as("flag after lock, tryLock and unlock").isTrue();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("before the close of a lease does not keep it from being released, and the flag stays")
    void interrupted_close_works() throws Exception {
        String name = newName();
        boolean flag = actor().call(() -> {
            Lease lease = first().lock(name).acquire();
            Thread.currentThread().interrupt();
            lease.close();
            return Thread.interrupted();
        });
        assertThat(flag).isTrue();
        assertBecomesFree(name);
    }
}
