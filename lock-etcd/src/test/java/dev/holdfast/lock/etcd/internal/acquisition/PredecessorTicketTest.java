package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What a read says to a waiter that waits for one key. */
final class PredecessorTicketTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private static EtcdAcquisition newAcquisition() {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    /** Clients use their keys again: its owner has left, and waits again, behind all. */
    @Test
    void keyAhead_thatWasMadeAgain_isNotTheOneThatIsWaitedFor() {
        EtcdAcquisition ahead = newAcquisition();
        PredecessorTicket ticket = new PredecessorTicket(newAcquisition(), ahead.key(), 5, 10);

        assertThat(ticket.onRead(List.of(QueueHeadTicketTest.entry(ahead.key(), 5)), 12))
                .as("is there still")
                .isFalse();
        assertThat(ticket.onRead(List.of(QueueHeadTicketTest.entry(ahead.key(), 11)), 12))
                .as("was made again")
                .isTrue();
        assertThat(ticket.onRead(List.of(), 12)).as("has left").isTrue();
    }

    @Test
    void event_isOneThatDeletesIt_whateverElseTheWatchSays() {
        EtcdAcquisition ahead = newAcquisition();
        PredecessorTicket ticket = new PredecessorTicket(newAcquisition(), ahead.key(), 5, 10);

        assertThat(ticket.onEvents(MadeUpWatch.deleted(ahead.key(), 12))).isTrue();
        assertThat(ticket.onEvents(MadeUpWatch.begun(12))).isFalse();
        assertThat(ticket.watched()).isEqualTo(ahead.key());
        assertThat(ticket.readOption().isKeysOnly()).isTrue();
        assertThat(ticket.watchOption().isNoPut()).isTrue();
        assertThat(ticket.revision()).isEqualTo(10);
    }

    /** One watch serves both, so the engine keeps it from poll to poll. */
    @Test
    void sameKeyOfTheSameCreation_isTheSameTicket_howeverMuchLater() {
        EtcdAcquisition acquisition = newAcquisition();
        EtcdAcquisition ahead = newAcquisition();
        PredecessorTicket ticket = new PredecessorTicket(acquisition, ahead.key(), 5, 10);

        assertThat(ticket)
                .isEqualTo(new PredecessorTicket(acquisition, ahead.key(), 5, 99))
                .hasSameHashCodeAs(new PredecessorTicket(acquisition, ahead.key(), 5, 99))
                .isNotEqualTo(new PredecessorTicket(acquisition, ahead.key(), 6, 10))
                .isNotEqualTo(
                        new PredecessorTicket(acquisition, newAcquisition().key(), 5, 10))
                .isNotEqualTo(new PredecessorTicket(newAcquisition(), ahead.key(), 5, 10));
    }
}
