package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The state of a permit waiter's ticket, for each order of answers and events. */
final class PermitTicketTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final EtcdAcquisition first = newAcquisition(1);
    private final EtcdAcquisition second = newAcquisition(1);
    private final EtcdAcquisition acquisition = newAcquisition(2);
    private final List<KeyValue> all = List.of(entry(first, 1, 5), entry(second, 2, 6), entry(acquisition, 0, 7));
    private final MadeUpWatch etcd = new MadeUpWatch();
    private final PermitTicket line = PermitTicket.of(acquisition, KEYS, new PermitLine(all, 10));
    private final PermitWatch watch = new PermitWatch(etcd.calls(), line);
    private final AtomicInteger notified = new AtomicInteger();
    private final Subscription subscription = watch.add(line, notified::incrementAndGet);

    @AfterEach
    void close() {
        subscription.close();
        etcd.close();
    }

    /** Returns whether the waiter is notified. */
    private boolean notifies(WatchResponse response) {
        int before = notified.get();
        assertThat(watch.onEvents(response)).as("the watch has no callback").isFalse();
        return notified.get() > before;
    }

    private static EtcdAcquisition newAcquisition(int permits) {
        var acquisition = new AcquisitionId("n", OwnerId.random(), new Demand.Permits(permits, 2));
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    private static KeyValue entry(EtcdAcquisition of, int slot, long created) {
        return new KeyValue(
                io.etcd.jetcd.api.KeyValue.newBuilder()
                        .setKey(ByteString.copyFrom(of.key().getBytes()))
                        .setValue(ByteString.copyFrom(of.value(slot).getBytes()))
                        .setCreateRevision(created)
                        .setModRevision(created)
                        .build(),
                ByteSequence.EMPTY);
    }

    @Test
    void roomIsMade_byTheLastDeletionOfThoseThatItNeeds() {
        assertThat(notifies(MadeUpWatch.deleted(first.key(), 12))).isFalse();
        assertThat(notifies(MadeUpWatch.deleted(second.key(), 13))).isTrue();
    }

    /** The first deletion would not be reported again, and it would wait until its next poll. */
    @Test
    void readOlderThanADeletion_restoresNoKey() {
        assertThat(notifies(MadeUpWatch.deleted(first.key(), 12))).isFalse();

        assertThat(line.onRead(all, 11)).isFalse();

        assertThat(notifies(MadeUpWatch.deleted(second.key(), 13))).isTrue();
    }

    /** Its owner waits again by then, with the same key. */
    @Test
    void readThatIsNewerThanADeletionThatWasHeard_counts() {
        assertThat(notifies(MadeUpWatch.deleted(first.key(), 12))).isFalse();
        List<KeyValue> later = List.of(entry(second, 2, 6), entry(acquisition, 0, 7), entry(first, 0, 13));

        assertThat(line.onRead(later, 14)).isFalse();

        assertThat(notifies(MadeUpWatch.deleted(first.key(), 15)))
                .as("who is behind it")
                .isFalse();
        assertThat(notifies(MadeUpWatch.deleted(second.key(), 16))).isTrue();
    }

    /** Its key is deleted, and written under its other name: attempts with the old limit must be refused. */
    @Test
    void changedLimit_callsAll() {
        ByteSequence limit = KEYS.limits("n").get(0);

        assertThat(notifies(MadeUpWatch.deleted(limit, 9))).as("known already").isFalse();
        assertThat(notifies(MadeUpWatch.deleted(limit, 12))).isTrue();
    }

    @Test
    void beginningOfTheWatch_isNoNews() {
        assertThat(notifies(MadeUpWatch.begun(12))).isFalse();
        assertThat(line.revision()).isEqualTo(10);
    }

    /** Its key is gone, so it must enter the queue again. */
    @Test
    void ownKeyIsDeleted_isCalled() {
        assertThat(notifies(MadeUpWatch.deleted(acquisition.key(), 12))).isTrue();
    }

    /** The slots to write are known by then, so that its turn is one transaction. */
    @Test
    void room_comesWithAPlan() {
        notifies(MadeUpWatch.deleted(first.key(), 12));
        assertThat(acquisition.takePlan()).as("no room yet").isNull();

        notifies(MadeUpWatch.deleted(second.key(), 13));

        assertThat(acquisition.takePlan()).isEqualTo(new SlotPlan(0, 1, List.of(), List.of()));
    }

    @Test
    void watch_isOfAllKeysOfTheName_andSoIsTheRead() {
        assertThat(line.watched()).isEqualTo(KEYS.queue("n"));
        assertThat(line.watchOption().isPrefix()).isTrue();
        assertThat(line.watchOption().isNoPut()).isTrue();
        assertThat(line.readOption().isPrefix()).isTrue();
        assertThat(line.readOption().isKeysOnly()).as("what they say counts").isFalse();
        assertThat(line).isEqualTo(PermitTicket.of(acquisition, KEYS, new PermitLine(all, 99)));
        assertThat(line).isNotEqualTo(PermitTicket.of(first, KEYS, new PermitLine(all, 10)));
    }

    /** Its answers, events and polls come on several threads. */
    @Test
    void nothingKeepsTheMutex() throws Exception {
        List<Runnable> used = List.of(
                () -> watch.onEvents(MadeUpWatch.deleted(first.key(), 12)),
                () -> line.onRead(all, 13),
                () -> line.update(new PermitLine(all, 14)),
                line::revision);
        for (Runnable one : used) {
            one.run();
            assertThat(CompletableFuture.supplyAsync(line::revision).get(10, TimeUnit.SECONDS))
                    .isGreaterThanOrEqualTo(10);
        }
    }
}
