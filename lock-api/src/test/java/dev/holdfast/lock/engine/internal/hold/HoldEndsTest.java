package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.LocalHolds;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Counts, events and leftovers around the end of a hold. */
class HoldEndsTest {

    @Test
    void minHold_ofOneThatGotTheLockByHandOff_countsFromItsOwnHold() {
        Virtual virtual = new Virtual(
                LockClientOptions.builder().handOffTime(Duration.ofMinutes(1)).build());
        Hold first = virtual.hold("n", LockOptions.defaults());
        AsyncWaiter next = virtual.submit(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(2)).build(), Waiter.FOREVER);
        virtual.pass(3 * Virtual.SECOND);
        virtual.end(first);
        virtual.end(Objects.requireNonNull(next.hold));

        virtual.pass(19 * Virtual.SECOND / 10);
        assertThat(virtual.backend.isHeld("n")).isTrue();
        virtual.pass(Virtual.SECOND / 5);
        assertThat(virtual.backend.isHeld("n")).isFalse();
    }

    @Test
    void timeOut_behindAReleaseThatHasNoAnswer_isUnavailableRatherThanBusy() {
        Virtual virtual = new Virtual();
        Hold held = virtual.hold("n", LockOptions.defaults());
        virtual.backend.silent = true;
        virtual.end(held);
        virtual.pass(Virtual.SECOND / 3);
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), Virtual.SECOND);
        AsyncWaiter brief = virtual.submit("n", LockOptions.defaults(), 1_000_000);
        virtual.pass(Virtual.SECOND / 100);
        assertThat(brief.state).as("returned before the late answer").isEqualTo(Waiter.State.BUSY);
        virtual.pass(2 * Virtual.SECOND);
        assertThat(Virtual.isUnavailable(waiter.future)).isTrue();
    }

    @Test
    void listener_thatThrowsAnError_doesNotHideTheEventFromTheNext() {
        Virtual virtual = new Virtual();
        List<String> heard = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void attempted(String name) {
                throw new StackOverflowError("on purpose");
            }
        });
        virtual.client.addListener(new LockListener() {
            @Override
            public void attempted(String name) {
                heard.add(name);
            }
        });
        virtual.hold("n", LockOptions.defaults());
        assertThat(heard).containsExactly("n");
    }

    @Test
    void renewedEvent_thatIsDeliveredAfterAHandOff_hasTheTokenOfItsTime() {
        Virtual virtual = new Virtual();
        Hold first = virtual.hold("n", LockOptions.defaults());
        AsyncWaiter next = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        List<Long> renewed = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void renewed(String name, long token) {
                renewed.add(token);
            }
        });
        virtual.client.engine().renewals().renewNow(first.heldGrant);
        virtual.end(first);
        virtual.pass(Virtual.SECOND);
        assertThat(Objects.requireNonNull(next.hold).token).isGreaterThan(first.token);
        assertThat(renewed).containsExactly(first.token);
    }

    @Test
    void interruptOfALoss_doesNotOutliveTheHold() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.REVOKED, "on purpose");
        virtual.pass(Virtual.SECOND);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();

        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("a stray interrupt").isFalse();
    }

    @Test
    void interruptByOthers_outlivesTheHold() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        Thread.currentThread().interrupt();
        lock.unlock();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void close_whileAReleasedLockStaysTaken_leavesItToItsLease() {
        Virtual virtual = new Virtual();
        Hold held = virtual.hold(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(9)).build());
        virtual.end(held);
        assertThat(virtual.client.isIdle()).isFalse();
        virtual.client.beginClose();
        assertThat(virtual.client.isIdle()).isTrue();
        virtual.pass(60 * Virtual.SECOND);
        assertThat(virtual.backend.removals).isZero();
    }

    @Test
    void entryThatIsIdle_takesNobodyIn() {
        Virtual virtual = new Virtual();
        Hold held = virtual.hold("n", LockOptions.defaults());
        LockEntry entry = Objects.requireNonNull(virtual.client.entries().find("n"));
        virtual.end(held);
        virtual.pass(Virtual.SECOND);
        ThreadWaiter late = new ThreadWaiter(LockOptions.defaults(), true, 0, virtual.machine.nanos());
        assertThat(entry.submit(late)).isFalse();
        assertThat(late.state).isEqualTo(Waiter.State.WAITING);
        assertThat(virtual.hold("n", LockOptions.defaults()).state).isEqualTo(Hold.State.HELD);
    }

    @Test
    void interruptByOthers_outlivesALease() throws InterruptedException {
        Lease lease = new Virtual().client.lock("n").acquire();
        Thread.currentThread().interrupt();
        lease.close();
        assertThat(Thread.interrupted()).isTrue();
    }

    /** The loss comes after its thread has checked the flag and before it ends the hold. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void interruptOfALoss_whileTheHoldIsEnded_doesNotOutliveIt(boolean interruptedBefore) {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        LocalHolds holds =
                Objects.requireNonNull(virtual.client.entries().find("n")).holds();
        if (interruptedBefore) {
            Thread.currentThread().interrupt();
        }
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.REVOKED, "on purpose");
        virtual.pass(Virtual.SECOND); // the interrupt has threads of its own
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThatThrownBy(() -> holds.unlock(Thread.currentThread(), false)).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("that of others").isEqualTo(interruptedBefore);
    }

    @Test
    void interruptOfALoss_betweenTheGrantAndTheReturn_doesNotOutliveTheHold() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        Hold held = virtual.holdHere("n");
        virtual.client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "on purpose");

        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), false, 0, virtual.machine.nanos());
        assertThatThrownBy(() -> virtual.client.calls().ensureStillValid(held, waiter))
                .isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("a stray interrupt").isFalse();
    }

    @Test
    void interruptOfALoss_staysUntilTheLastHoldHasEnded() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        lock.lock();
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.REVOKED, "on purpose");
        virtual.pass(Virtual.SECOND);

        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("a stray interrupt").isFalse();
    }

    @Test
    void interruptByOthers_beforeTheLoss_outlivesTheHold() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        Thread.currentThread().interrupt();
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.REVOKED, "on purpose");
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    /** It has no holder any more, so no loss is reported; but it stays taken for longer than its lease. */
    @Test
    void releasedLock_thatStaysTaken_isRenewedSilently() {
        Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
        ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;
        List<String> reported = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void renewed(String name, long token) {
                reported.add("renewed");
            }

            @Override
            public void suspect(String name, long token, String detail) {
                reported.add("suspect");
            }

            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                reported.add("lost");
            }

            @Override
            public void released(String name, long token, Duration held) {
                reported.add("released");
            }
        });
        Hold held = virtual.hold(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(20)).build());
        virtual.end(held);
        assertThat(virtual.client.held()).isEmpty();
        backend.renewResults.add(new RenewResult.Unknown("on purpose", null));
        virtual.pass(19 * Virtual.SECOND);
        assertThat(backend.renewals)
                .as("at 5 s, again at once, at 10 s and 15 s")
                .isEqualTo(4);
        assertThat(backend.isHeld("n")).isTrue();
        virtual.pass(2 * Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(reported).containsExactly("released");
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** An action on a loss may be slow: neither the detecting thread nor the next loss waits for it. */
    @Test
    void loss_isToldOnAThreadForCallbacks() {
        Virtual virtual = new Virtual();
        List<LossReason> reported = new ArrayList<>();
        for (String name : List.of("a", "b")) {
            Hold hold = virtual.hold(name, LockOptions.defaults());
            hold.lock.lossOf(hold).thenAccept(reported::add);
            virtual.client.entries().lost(hold.heldGrant.grant, LossReason.REVOKED, "on purpose");
            assertThat(hold.state).isEqualTo(Hold.State.LOST);
            assertThat(reported).isEmpty();
            virtual.pass(0);
            assertThat(reported).containsExactly(LossReason.REVOKED);
            reported.clear();
        }
    }

    /**
     * Meanwhile the lock was revoked and another caller of this client has it: late reports about the first grant do not
     * affect the second.
     */
    @Test
    void endOfAGrantThatIsGone_leavesTheNextOneAlone() {
        Virtual virtual = new Virtual();
        Hold first = virtual.hold(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(5)).build());
        virtual.end(first);
        AsyncWaiter next = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        virtual.backend.remove("n");
        virtual.client.entries().lost(first.heldGrant.grant, LossReason.REVOKED, "on purpose");
        Hold second = Objects.requireNonNull(next.hold);
        first.heldGrant.listener.ended(first.heldGrant, LossReason.REVOKED, "late");
        virtual.pass(6 * Virtual.SECOND); // the end of the first hold's minHold
        assertThat(second.state).isEqualTo(Hold.State.HELD);
        assertThat(virtual.client.held()).hasSize(1);
        assertThat(virtual.backend.removals).isZero();
        virtual.end(second);
        assertThat(virtual.backend.isHeld("n")).isFalse();
    }

    /** On an ordered store the next holder may also release before that; the lock is not free then. */
    @Test
    void answerToARelease_isNotThatOfALaterOne() {
        InlineBackend backend = new InlineBackend(true);
        EngineClient client = InlineBackend.client(
                backend, LockClientOptions.builder().handOffLimit(0).build());
        List<CompletableFuture<ReleaseResult>> answers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            AsyncWaiter waiter = InlineBackend.waiter(Waiter.FOREVER);
            client.entries().submit("n", waiter);
            CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
            answers.add(answer);
            backend.releaseAnswer = answer;
            Hold hold = Objects.requireNonNull(waiter.hold);
            hold.lock.end(hold);
        }
        answers.get(0).complete(ReleaseResult.RELEASED);
        AsyncWaiter once = InlineBackend.waiter(0);
        client.entries().submit("n", once);
        assertThat(once.state).isEqualTo(Waiter.State.BUSY);
        assertThat(backend.attempted).hasSize(2);
        answers.get(1).complete(ReleaseResult.RELEASED);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void interruptOfALoss_doesNotComeAfterTheHoldHasEnded() {
        Virtual virtual = new Virtual();
        DistributedLock lock = virtual.client.lock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        lock.lock();
        virtual.client.entries().lost(virtual.grantHere("n"), LossReason.REVOKED, "on purpose");
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        virtual.pass(Virtual.SECOND);
        assertThat(Thread.interrupted()).as("a stray interrupt").isFalse();
    }
}
