package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.etcd.jetcd.Client;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A client whose calls have no answers: is it the store that does not answer, or the connection that is useless? */
final class FreshClientTest {
    private static final Duration REQUEST_TIMEOUT = Duration.ofMillis(300);

    private final ScriptedEtcd first = new ScriptedEtcd();
    private final ScriptedEtcd another = new ScriptedEtcd();
    private final Client firstClient = first.client();
    private final Client anotherClient = another.client();
    private final AtomicInteger endedConnections = new AtomicInteger();
    private final FreshClient fresh =
            new FreshClient(own(firstClient), () -> own(anotherClient), REQUEST_TIMEOUT, () -> 0, Runnable::run);

    @AfterEach
    void close() {
        first.close();
        another.close();
    }

    private OwnClient own(Client jetcd) {
        return new OwnClient(jetcd, endedConnections::incrementAndGet);
    }

    private void leaveUnanswered(int calls) {
        for (int i = 0; i < calls; i++) {
            fresh.unanswered();
        }
    }

    @Test
    void anotherConnectionIsAnswered_itIsUsedInstead() {
        leaveUnanswered(FreshClient.UNANSWERED - 1);
        assertThat(another.requests).isEmpty();

        leaveUnanswered(10);
        assertThat(another.requests).as("one at a time").hasSize(1);
        assertThat(fresh.get()).isSameAs(firstClient);
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));

        assertThat(fresh.get()).isSameAs(anotherClient);
        assertThat(first.closedWatches)
                .as("watches begin again on the other one")
                .hasValue(1);
        assertThat(first.closed).as("its calls have until their time-outs").hasValue(0);
        await().atMost(Duration.ofMinutes(1)).until(() -> endedConnections.get() == 1);
        assertThat(first.closed).hasValue(1);
        assertThat(another.closed).hasValue(0);
    }

    @Test
    void closedSoonAfterwards_bothAreClosed() {
        leaveUnanswered(FreshClient.UNANSWERED);
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        fresh.close();

        assertThat(first.closed.get()).isPositive();
        assertThat(another.closed).hasValue(1);
    }

    @Test
    void storeAnswersNobody_connectionStays_andIsTriedAgain() {
        leaveUnanswered(FreshClient.UNANSWERED);
        another.next("timeToLive").fails(Status.UNAVAILABLE);

        assertThat(fresh.get()).isSameAs(firstClient);
        assertThat(first.closed).hasValue(0);
        assertThat(another.closed).hasValue(1);

        leaveUnanswered(1);
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        assertThat(fresh.get()).isSameAs(anotherClient);
    }

    /** Without memory for a thread, say. */
    @Test
    void attemptFails_isMadeAgain() {
        AtomicInteger failures = new AtomicInteger(2);
        FreshClient without = new FreshClient(
                own(firstClient),
                () -> {
                    if (failures.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("made up by the test");
                    }
                    return own(anotherClient);
                },
                REQUEST_TIMEOUT,
                () -> 0,
                Runnable::run);
        for (int i = 0; i <= FreshClient.UNANSWERED; i++) {
            without.unanswered();
        }
        assertThat(failures).as("it failed twice").hasValue(0);

        without.unanswered();
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));

        assertThat(without.get()).isSameAs(anotherClient);
    }

    @Test
    void answerComesMeanwhile_connectionStays() {
        leaveUnanswered(FreshClient.UNANSWERED);
        fresh.answered();
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));

        assertThat(fresh.get()).isSameAs(firstClient);
        assertThat(another.closed).hasValue(1);
        leaveUnanswered(FreshClient.UNANSWERED - 1);
        assertThat(another.requests).as("it counts from the last answer").hasSize(1);
    }

    @Test
    void closedMeanwhile_bothAreClosed() {
        leaveUnanswered(FreshClient.UNANSWERED);
        fresh.close();
        another.next("timeToLive").answers(ScriptedEtcd.lives(-1));

        assertThat(first.closed).hasValue(1);
        assertThat(another.closed).hasValue(1);
    }
}
