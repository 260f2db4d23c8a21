package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A waiter: what it notifies, when it polls, and what it listens for. */
final class WaitTicketTest {
    private final WaitTicket ticket = new WaitTicket(BackendDriver.newAcquisition("orders/42"));

    /** From 10 ms on, twice as long each time, up to a second, and a little less so that waiters do not poll together. */
    @Test
    void nextPoll_doublesUpToASecond_howeverOften() {
        long millis = 10;
        boolean jitter = false;
        for (int poll = 0; poll < 200; poll++) {
            long nanos = ticket.nextPollNanos();
            assertThat(nanos)
                    .as("poll %d", poll)
                    .isBetween(TimeUnit.MILLISECONDS.toNanos(millis) * 3 / 4, TimeUnit.MILLISECONDS.toNanos(millis));
            jitter |= nanos < TimeUnit.MILLISECONDS.toNanos(millis) * 9 / 10;
            millis = Math.min(1_000, 2 * millis);
        }
        assertThat(jitter).as("some are earlier").isTrue();
    }

    @Test
    void call_runsWhoeverListensNow() {
        AtomicInteger calls = new AtomicInteger();
        assertThat(ticket.isListening()).isFalse();
        ticket.call();
        ticket.listener(calls::incrementAndGet);
        assertThat(ticket.isListening()).isTrue();
        ticket.call();
        ticket.call();
        ticket.listener(null);
        ticket.call();
        assertThat(calls).hasValue(2);
        assertThat(ticket.isListening()).isFalse();
    }

    /** Any role can listen: the notification does not contain the name. */
    @Test
    void payload_isTheHashOfTheName() {
        assertThat(ticket.name()).isEqualTo("orders/42");
        assertThat(new WaitTicket(BackendDriver.newAcquisition("é")).payload())
                .isEqualTo("4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
    }

    @Test
    void room_mayBeMissed_byOneWhoWantsPermits() {
        assertThat(ticket.mayHaveMissedRoom()).isFalse();
        assertThat(of(Demand.SHARED).mayHaveMissedRoom()).isFalse();
        assertThat(of(new Demand.Permits(1, 2)).mayHaveMissedRoom()).isTrue();
    }

    private static WaitTicket of(Demand demand) {
        return new WaitTicket(new AcquisitionId("a", OwnerId.random(), demand));
    }

    @Test
    void announcement_isAsOldAsItsBeginning() {
        assertThat(ticket.announcedLongerAgoThan(TimeUnit.HOURS.toNanos(1))).isFalse();
        assertThat(ticket.announcedLongerAgoThan(-1)).isTrue();
    }
}
