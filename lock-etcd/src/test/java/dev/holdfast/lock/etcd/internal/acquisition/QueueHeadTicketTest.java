package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The state of a ticket with few keys ahead, for each order of answers and events. */
final class QueueHeadTicketTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final EtcdAcquisition acquisition = newAcquisition();
    private final QueueHeadTicket line = QueueHeadTicket.of(acquisition, KEYS);
    private final ByteSequence own = acquisition.key();
    private final ByteSequence other = newAcquisition().key();

    private static EtcdAcquisition newAcquisition() {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    static KeyValue entry(ByteSequence key, long created) {
        return new KeyValue(
                io.etcd.jetcd.api.KeyValue.newBuilder()
                        .setKey(com.google.protobuf.ByteString.copyFrom(key.getBytes()))
                        .setCreateRevision(created)
                        .build(),
                ByteSequence.EMPTY);
    }

    private static List<QueueHeadTicket.Deletion> deleted(ByteSequence key, long at) {
        return List.of(new QueueHeadTicket.Deletion(EtcdKeys.ending(key), at));
    }

    @Test
    void lastAheadLeaves_isFirst() {
        assertThat(line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10))
                .isFalse();

        assertThat(line.onDeletions(deleted(other, 12))).isTrue();

        assertThat(line.isFirst(10)).isTrue();
        assertThat(line.isFirst(11)).as("with another key").isFalse();
    }

    /** The event overtook the answer of the attempt that created a new key, and would not be repeated. */
    @Test
    void lastAheadLeaves_beforeTheAnswerWithIt_isReported() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);
        assertThat(line.onDeletions(deleted(own, 12))).as("its key is gone").isTrue();
        assertThat(line.onDeletions(deleted(other, 20)))
                .as("was notified already")
                .isFalse();

        assertThat(line.update(own, 15, List.of(entry(own, 15), entry(other, 5)), 15))
                .isTrue();

        assertThat(line.isFirst(15)).isTrue();
    }

    /** Its own key may have been deleted in between: only a read shows that. */
    @Test
    void watchThatBeginsAfterTheLastRead_callsInsteadOfHandingOver() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);
        line.watchFrom(20);

        assertThat(line.onDeletions(deleted(other, 25))).isTrue();
        assertThat(line.isFirst(10)).isFalse();

        assertThat(line.onRead(List.of(entry(own, 10)), 26)).isTrue();
        assertThat(line.isFirst(10)).isTrue();
    }

    /** It would wait for keys that have left in the meantime, and no event would correct that. */
    @Test
    void answerThatComesLate_changesNothing() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);
        assertThat(line.update(own, 10, List.of(entry(own, 10)), 30)).isTrue();

        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 20);

        assertThat(line.isFirst(10)).isTrue();
        assertThat(line.revision()).isEqualTo(30);
    }

    @Test
    void whoeverComesLater_isNotWaitedFor() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 15)), 20);

        assertThat(line.isFirst(10)).isTrue();
    }

    @Test
    void eventsBeforeTheAnswer_areIgnored() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 30);

        assertThat(line.onDeletions(deleted(other, 20))).isFalse();
        assertThat(line.isFirst(10)).isFalse();
    }

    /** An administrator deletes all keys of the name by one transaction, whose events come together. */
    @Test
    void ownKeyIsDeletedTogetherWithTheLastAhead_isNotFirst() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);
        QueueHeadTicket.Deletion ahead = new QueueHeadTicket.Deletion(EtcdKeys.ending(other), 12);
        QueueHeadTicket.Deletion its = new QueueHeadTicket.Deletion(EtcdKeys.ending(own), 12);

        assertThat(line.onDeletions(List.of(ahead, its))).isTrue();

        assertThat(line.isFirst(10)).isFalse();
    }

    /** Those behind are of no interest, and may be many. */
    @Test
    void read_isOfTheKeysUpToItsOwn_andTheWatchOfTheLine() {
        assertThat(line.readOption().getMaxCreateRevision()).as("of no key yet").isZero();
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 12);

        assertThat(line.readOption().getMaxCreateRevision()).isEqualTo(10);
        assertThat(line.readOption().isKeysOnly()).isTrue();
        assertThat(line.readOption().getEndKey()).contains(KEYS.queueEnd("n"));
        assertThat(line.watchOption().getEndKey()).contains(KEYS.queueEnd("n"));
        assertThat(line.watchOption().isNoPut()).isTrue();
        assertThat(line.watched()).isEqualTo(KEYS.queue("n"));
        assertThat(line.revision()).isEqualTo(12);
        assertThat(line.created()).isEqualTo(10);
    }

    @Test
    void ticket_isOneAndTheSame_ofOneAcquisition() {
        assertThat(QueueHeadTicket.of(acquisition, KEYS)).isSameAs(line);
        assertThat(line).isNotEqualTo(QueueHeadTicket.of(newAcquisition(), KEYS));
    }

    /** It was notified already, and other events do not matter. */
    @Test
    void news_areReportedOnce_untilTheNextRead() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);
        assertThat(line.onDeletions(deleted(other, 12))).isTrue();
        assertThat(line.onDeletions(deleted(newAcquisition().key(), 13))).isFalse();

        assertThat(line.onRead(List.of(entry(own, 10)), 14)).as("after a look").isTrue();
        assertThat(line.onRead(List.of(entry(own, 10)), 13)).as("a stale one").isFalse();
    }

    /** The key was deleted without an event. */
    @Test
    void readWithoutItsOwnKey_isNews_andItIsNotFirst() {
        line.update(own, 10, List.of(entry(own, 10), entry(other, 5)), 10);

        assertThat(line.onRead(List.of(), 12)).isTrue();

        assertThat(line.isFirst(10)).isFalse();
    }

    /** Its answers, events and polls come on several threads. */
    @Test
    void nothingKeepsTheMutex() throws Exception {
        List<Runnable> all = List.of(
                () -> line.update(own, 10, List.of(entry(own, 10)), 10),
                () -> line.onDeletions(deleted(other, 12)),
                () -> line.watchFrom(5),
                () -> line.onRead(List.of(entry(own, 10)), 14),
                () -> line.isFirst(10),
                line::created,
                line::revision);
        for (Runnable one : all) {
            one.run();
            assertThat(CompletableFuture.supplyAsync(line::revision).get(10, TimeUnit.SECONDS))
                    .isGreaterThanOrEqualTo(10);
        }
    }
}
