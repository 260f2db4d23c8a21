package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What counts of what a watch says, in each order in which its beginning, its end and its events may come. */
final class NameWatchTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final EtcdCalls calls = etcd.calls();
    private final ByteSequence ahead = newAcquisition().key();
    private final EtcdAcquisition acquisition = newAcquisition();
    private final QueueHeadTicket line = QueueHeadTicket.of(acquisition, KEYS);
    private final NameWatch watch = new NameWatch(calls, line);
    private final AtomicInteger news = new AtomicInteger();

    private static EtcdAcquisition newAcquisition() {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    @AfterEach
    void close() {
        watch.close();
        etcd.close();
    }

    private void queuedUp(long at) {
        List<KeyValue> read =
                List.of(QueueHeadTicketTest.entry(acquisition.key(), 10), QueueHeadTicketTest.entry(ahead, 5));
        assertThat(line.update(acquisition.key(), 10, read, at)).isFalse();
    }

    private Subscription listen() {
        return watch.add(line, news::incrementAndGet);
    }

    private void opened(long at) {
        watch.open();
        etcd.listeners.get(0).onNext(MadeUpWatch.begun(at));
    }

    @Test
    void lastAheadLeaves_isFirst() {
        opened(3);
        queuedUp(10);
        listen();

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        assertThat(news).hasValue(1);
        assertThat(line.isFirst(10)).isTrue();
    }

    @Test
    void lastAheadLeaves_betweenItsAttemptAndItsListening_isFirst() {
        opened(3);
        queuedUp(10);
        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        listen();

        assertThat(news).hasValue(1);
        assertThat(line.isFirst(10)).isTrue();
    }

    @Test
    void ownKeyWasDeleted_betweenItsAttemptAndItsListening_isNotFirst() {
        opened(3);
        queuedUp(10);
        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(acquisition.key(), 11));
        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        listen();

        assertThat(news).hasValue(1);
        assertThat(line.isFirst(10)).isFalse();
    }

    /** jetcd goes on by itself after some errors, and may have lost events: the own key's deletion, for one. */
    @Test
    void whatComesAfterAnError_doesNotCount() {
        opened(3);
        queuedUp(10);
        listen();
        etcd.listeners.get(0).onError(new IllegalStateException("reset by the test"));

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        assertThat(news).hasValue(0);
        assertThat(line.isFirst(10)).isFalse();
    }

    @Test
    void whatComesAfterItsEnd_doesNotCount() {
        opened(3);
        queuedUp(10);
        listen();
        etcd.listeners.get(0).onCompleted();

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        assertThat(news).hasValue(0);
        assertThat(line.isFirst(10)).isFalse();
    }

    /** More deletions than are remembered, the own key's perhaps among them. */
    @Test
    void deletionsThatAreForgotten_betweenItsAttemptAndItsListening_leaveItToARead() {
        opened(3);
        queuedUp(10);
        for (int at = 11; at < 111; at++) {
            etcd.listeners
                    .get(0)
                    .onNext(MadeUpWatch.deleted(
                            at == 12 ? acquisition.key() : newAcquisition().key(), at));
        }
        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 111));

        listen();

        assertThat(line.isFirst(10)).isFalse();
        assertThat(etcd.requests).as("reads").hasValue(1);
    }

    /** What was deleted before it began is known to a read at its beginning, or after it, alone. */
    @Test
    void watchThatBeginsAfterTheAttempt_leavesItToARead() {
        queuedUp(10);
        listen();
        opened(20);
        assertThat(etcd.requests).as("reads").hasValue(1);

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 25));
        assertThat(line.isFirst(10)).isFalse();

        watch.onRead(List.of(QueueHeadTicketTest.entry(acquisition.key(), 10)), 19);
        assertThat(line.isFirst(10)).as("a stale read").isFalse();

        watch.onRead(List.of(QueueHeadTicketTest.entry(acquisition.key(), 10)), 26);
        assertThat(line.isFirst(10)).isTrue();
    }

    /** The waiter ahead may have left before it began, and no event would follow. */
    @Test
    void readAtItsBeginningFails_anotherWatchIsOpened() {
        queuedUp(10);
        listen();
        opened(20);
        assertThat(etcd.requests).as("reads, which fail").hasValue(1);

        etcd.runPlanned(); // leaves jetcd's thread
        etcd.runPlanned(); // after a pause

        assertThat(etcd.listeners).hasSize(2);
        etcd.listeners.get(1).onNext(MadeUpWatch.begun(21));
        assertThat(etcd.requests).as("reads").hasValue(2);
    }

    /** The next watch begins behind a gap. */
    @Test
    void watchThatWasOpenedAgain_leavesItToARead() {
        opened(3);
        queuedUp(10);
        listen();
        etcd.listeners.get(0).onError(new IllegalStateException("reset by the test"));
        watch.open();
        etcd.listeners.get(1).onNext(MadeUpWatch.begun(20));

        etcd.listeners.get(1).onNext(MadeUpWatch.deleted(ahead, 25));

        assertThat(line.isFirst(10)).isFalse();
    }

    /** A waiter gives up while the request is being made: nothing would end that watch later. */
    @Test
    void closedWhileItIsOpened_ends() {
        etcd.whileOpening = watch::close;

        watch.open();

        assertThat(etcd.listeners).hasSize(1);
        assertThat(etcd.closed).hasValue(1);
    }

    /** Sixty-four: the waiter ahead has left before all the others. */
    @Test
    void recentDeletions_betweenItsAttemptAndItsSubscription_needNoRead() {
        for (int others : new int[] {63, 64}) {
            AtomicInteger told = new AtomicInteger();
            NameWatch another = new NameWatch(calls, line);
            another.onEvents(MadeUpWatch.begun(3));
            QueueHeadTicket late = QueueHeadTicket.of(newAcquisition(), KEYS);
            ByteSequence own = late.acquisition().key();
            late.update(own, 10, List.of(QueueHeadTicketTest.entry(own, 10), QueueHeadTicketTest.entry(ahead, 5)), 10);
            another.onEvents(MadeUpWatch.deleted(ahead, 11));
            for (int i = 0; i < others; i++) {
                another.onEvents(MadeUpWatch.deleted(newAcquisition().key(), 12 + i));
            }

            another.add(late, told::incrementAndGet);

            assertThat(told).as("%d others", others).hasValue(others == 63 ? 1 : 0);
            assertThat(etcd.requests).as("reads").hasValue(others == 63 ? 0 : 1);
        }
    }

    /** A read serves all: none of them may have keys ahead that it leaves out, or have known more before. */
    @Test
    void read_isUpToTheLast_andWhatIsKnownIsWhatAllKnow() {
        assertThat(watch.revision()).as("no waiter is registered").isEqualTo(Long.MAX_VALUE);
        queuedUp(12);
        QueueHeadTicket behind = QueueHeadTicket.of(newAcquisition(), KEYS);
        ByteSequence own = behind.acquisition().key();
        behind.update(own, 20, List.of(QueueHeadTicketTest.entry(own, 20), QueueHeadTicketTest.entry(ahead, 5)), 20);
        Subscription first = listen();
        watch.add(behind, news::incrementAndGet);

        assertThat(watch.readOption().getMaxCreateRevision()).isEqualTo(20);
        assertThat(watch.revision()).isEqualTo(12);

        first.close();
        assertThat(watch.revision()).isEqualTo(20);
    }
}
