package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What a waiter for permits knows of those ahead, in each order in which answers and events may come. */
final class InLineTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final EtcdAcquisition first = newPlace(1);
    private final EtcdAcquisition second = newPlace(1);
    private final EtcdAcquisition place = newPlace(2);
    private final List<KeyValue> all = List.of(entry(first, 1, 5), entry(second, 2, 6), entry(place, 0, 7));
    private final InLine line = new InLine(place, KEYS, new PermitLine(all, 10));

    private static EtcdAcquisition newPlace(int permits) {
        var acquisition = new AcquisitionId("n", OwnerId.random(), new Demand.Permits(permits, 2));
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
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
        assertThat(line.isFreedBy(MadeUpWatch.deleted(first.key(), 12))).isFalse();
        assertThat(line.isFreedBy(MadeUpWatch.deleted(second.key(), 13))).isTrue();
    }

    /** Nobody would hear of the first deletion again, and it would wait until its next poll. */
    @Test
    void readThatIsOlderThanADeletionThatWasHeard_bringsNobodyBack() {
        assertThat(line.isFreedBy(MadeUpWatch.deleted(first.key(), 12))).isFalse();

        assertThat(line.isFreedBy(all, 11)).isFalse();

        assertThat(line.isFreedBy(MadeUpWatch.deleted(second.key(), 13))).isTrue();
    }

    /** Its owner waits again by then, with the same key. */
    @Test
    void readThatIsNewerThanADeletionThatWasHeard_counts() {
        assertThat(line.isFreedBy(MadeUpWatch.deleted(first.key(), 12))).isFalse();
        List<KeyValue> later = List.of(entry(second, 2, 6), entry(place, 0, 7), entry(first, 0, 13));

        assertThat(line.isFreedBy(later, 14)).isFalse();

        assertThat(line.isFreedBy(MadeUpWatch.deleted(first.key(), 15)))
                .as("who is behind it")
                .isFalse();
        assertThat(line.isFreedBy(MadeUpWatch.deleted(second.key(), 16))).isTrue();
    }
}
