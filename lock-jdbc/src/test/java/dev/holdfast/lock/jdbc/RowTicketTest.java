package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The notification of a waiter whose attempt can be granted. */
final class RowTicketTest {
    private final RowTicket ticket = new RowTicket(Runnable::run);
    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void call_thoseWhoListen_andNobodyWhoHasStopped() {
        ticket.listen(calls::incrementAndGet).close();
        Subscription subscription = ticket.listen(calls::incrementAndGet);

        ticket.call();

        assertThat(calls).hasValue(1);
        subscription.close();
    }

    @Test
    void listen_behindTheCall_isCalled() {
        ticket.call();
        ticket.listen(calls::incrementAndGet).close();
        assertThat(calls).hasValue(1);
    }

    /** Whoever listens may hold locks of its own: it is not called within its call. */
    @Test
    void listen_behindTheCall_isCalledByTheExecutor() {
        List<Runnable> tasks = new ArrayList<>();
        RowTicket later = new RowTicket(tasks::add);
        later.listen(calls::incrementAndGet);
        later.call();
        assertThat(calls).as("in the call").hasValue(1);
        later.listen(calls::incrementAndGet);
        assertThat(calls).hasValue(1);

        tasks.forEach(Runnable::run);

        assertThat(calls).hasValue(2);
        later.call();
        assertThat(calls).as("both, and again").hasValue(4);
    }
}
