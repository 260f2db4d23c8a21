package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When the watch of a name ends that nobody uses any more: without a server. */
final class NameWatchesTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final NameWatches watches = new NameWatches(etcd.calls());
    private final ShortLine line = newLine();

    private static ShortLine newLine() {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return ShortLine.of(
                new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY), KEYS);
    }

    @AfterEach
    void close() {
        watches.close();
        etcd.close();
    }

    /** Its end was planned when it was idle before, so it comes too soon. */
    @Test
    void usedAgain_beforeItsEnd_endsLater() {
        watches.add(line, () -> {}).close();
        watches.add(line, () -> {}).close();
        assertThat(etcd.listeners).as("one watch").hasSize(1);

        etcd.runPlanned();

        // On a machine that stood still for a second, it has ended.
        assertThat(etcd.planned() + etcd.closed.get()).isEqualTo(1);
    }

    @Test
    void clientIsClosed_whileItIsIdle_endsAtOnce() {
        watches.add(line, () -> {}).close();

        watches.close();

        assertThat(etcd.closed).hasValue(1);
    }
}
