package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When the unused watch of a name ends: without a server. */
final class NameWatchPoolTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final ScriptedEtcd planned = new ScriptedEtcd();
    private final NameWatchPool watches = new NameWatchPool(etcd.calls());
    private final QueueHeadTicket line = newLine();

    private static QueueHeadTicket newLine() {
        return newLine("n");
    }

    private static QueueHeadTicket newLine(String name) {
        var acquisition = BackendDriver.newAcquisition(name);
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return QueueHeadTicket.of(
                new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY),
                KEYS);
    }

    @AfterEach
    void close() {
        watches.close();
        etcd.close();
        planned.close();
    }

    /** Its end was planned when it was idle before, so it comes too soon. */
    @Test
    void usedAgain_beforeItsEnd_endsLater() {
        watches.add(line, () -> {}).close();
        long startNanos = System.nanoTime();
        watches.add(line, () -> {}).close();
        assertThat(etcd.listeners).as("one watch").hasSize(1);

        etcd.runPlanned();

        boolean isIdleForLess = System.nanoTime() - startNanos < TimeUnit.SECONDS.toNanos(1);
        assertThat(etcd.planned() + etcd.closed.get()).isEqualTo(1);
        assertThat(etcd.closed)
                .as("ended, which may happen after a pause of the machine of a second")
                .hasValueLessThanOrEqualTo(isIdleForLess ? 0 : 1);
    }

    @Test
    void clientIsClosed_whileItIsIdle_endsAtOnce() {
        watches.add(line, () -> {}).close();

        watches.close();

        assertThat(etcd.closed).hasValue(1);
    }

    @Test
    void waitersOfAName_shareAWatch_andOtherNamesHaveTheirOwn() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        ours.add(line, () -> {});
        ours.add(newLine("n"), () -> {});
        assertThat(planned.listeners).hasSize(1);

        ours.add(newLine("other"), () -> {});

        assertThat(planned.listeners).hasSize(2);
    }

    /** Of two, one is closed twice: as often as there are waiters. */
    @Test
    void waiterThatLeavesTwice_isCountedOnce() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        Subscription twice = ours.add(line, () -> {});
        ours.add(newLine("n"), () -> {});

        twice.close();
        twice.close();

        assertThat(planned.planned).as("its end").isEmpty();
    }

    @Test
    void lastWaiterLeaves_watchGoesOnForASecond() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        Subscription first = ours.add(line, () -> {});
        Subscription second = ours.add(newLine("n"), () -> {});
        first.close();
        assertThat(planned.planned).as("its end").isEmpty();

        second.close();

        assertThat(planned.delays()).containsExactly(1_000L);
        assertThat(planned.closedWatches).hasValue(0);
    }

    @Test
    void end_whileAnotherWaits_watchContinues_andEndsAfterThatWaiter() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        ours.add(line, () -> {}).close();
        Subscription again = ours.add(newLine("n"), () -> {});

        planned.pass();

        assertThat(planned.planned).isEmpty();
        assertThat(planned.closedWatches).hasValue(0);
        again.close();
        assertThat(planned.delays()).containsExactly(1_000L);
    }

    /** Nothing would end it later. */
    @Test
    void waiterThatComesAfterTheEndOfTheClient_leavesNoWatch() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        ours.close();

        ours.add(line, () -> {});

        assertThat(planned.closedWatches.get()).isEqualTo(planned.listeners.size());
    }

    @Test
    void lastWaiterLeaves_whenTheExecutorHasEnded_nothingIsThrown() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        Subscription only = ours.add(line, () -> {});
        planned.executor.shutdownNow();

        only.close();
        ours.close();

        assertThat(planned.closedWatches).hasValue(1);
    }

    /** What it calls for is over. */
    @Test
    void waiterThatHasLeft_isNotCalled() {
        NameWatchPool ours = new NameWatchPool(planned.calls());
        AtomicInteger left = new AtomicInteger();
        AtomicInteger stays = new AtomicInteger();
        QueueHeadTicket other = newLine("n");
        ByteSequence ahead = newLine("n").acquisition().key();
        for (QueueHeadTicket one : List.of(line, other)) {
            ByteSequence own = one.acquisition().key();
            one.update(own, 10, List.of(QueueHeadTicketTest.entry(own, 10), QueueHeadTicketTest.entry(ahead, 5)), 10);
        }
        ours.add(line, left::incrementAndGet).close();
        ours.add(other, stays::incrementAndGet);
        planned.listeners.get(0).onNext(MadeUpWatch.begun(3));

        planned.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        assertThat(left).hasValue(0);
        assertThat(stays).hasValue(1);
    }
}
