package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendQueuesContract extends BackendGroup {

    public BackendQueuesContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("lets a waiter have the lock once it is released")
    void waiter_afterRelease_granted() {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();
        release(first(), grant);

        assertThat(waiter.await(PATIENCE).token()).isGreaterThan(grant.token());
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("lets a waiter have the lock once the holder's grant has expired")
    void waiter_afterExpiry_granted() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();
        fixture().expire(name);

        assertThat(waiter.await(PATIENCE).token()).isGreaterThan(grant.token());
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("gives a waiter that asks again no second place")
    void waiter_asksAgain_keepsOnePlace() throws Exception {
        String name = newName();
        granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();
        long entries = fixture().entries(name);

        waiter.queueUp();
        waiter.queueUp();

        assertEntries(name, entries);
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("is empty once the waiter has held and released the lock")
    void waiter_grantedAndReleased_leavesNothing() {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();
        release(first(), grant);
        Grant next = waiter.await(PATIENCE);

        release(second(), next);

        assertEntries(name, 0);
    }

    @TestIf(Need.FIFO)
    @DisplayName("serves waiters of several backends in the order in which they came")
    void waiters_served_inOrder() {
        String name = newName();
        Grant held = granted(first(), name);
        List<BackendDriver> waiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            BackendDriver waiter = driver(i % 2 == 0 ? second() : first(), name);
            waiter.queueUp();
            waiters.add(waiter);
        }
        release(first(), held);

        for (int i = 0; i < 5; i++) {
            BackendDriver served = oneOf(waiters.subList(i, 5));
            assertThat(waiters.indexOf(served))
                    .as("place of the waiter that was served as number %d", i)
                    .isEqualTo(i);
            served.abandon();
        }
    }

    /** Asks for all, the last first, until one is granted. */
    private static BackendDriver oneOf(List<BackendDriver> waiters) {
        List<BackendDriver> served = new ArrayList<>();
        await().atMost(PATIENCE).until(() -> {
            for (int i = waiters.size() - 1; i >= 0 && served.isEmpty(); i--) {
                if (waiters.get(i).tryAcquire(BackendDriver.LEASE_MILLIS) instanceof AcquireResult.Granted) {
                    served.add(waiters.get(i));
                }
            }
            return !served.isEmpty();
        });
        return served.get(0);
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("calls the first waiter when the lock is released")
    void signal_release_calls() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        CountDownLatch called = signalled(waiter, ticket(waiter));

        release(first(), grant);

        assertCalled(called, "after the release");
        waiter.await(PATIENCE);
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("calls the first waiter when the grant is abandoned")
    void signal_abandon_calls() throws Exception {
        String name = newName();
        BackendDriver holder = driver(first(), name);
        holder.acquire();
        BackendDriver waiter = driver(second(), name);
        CountDownLatch called = signalled(waiter, ticket(waiter));

        holder.abandon();

        assertCalled(called, "after the abandonment");
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("calls the next waiter when the one before it gives up and the lock is free")
    void signal_waiterBeforeLeaves_calls() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver before = driver(second(), name);
        before.queueUp();
        BackendDriver waiter = driver(first(), name);
        CountDownLatch called = signalled(waiter, ticket(waiter));

        release(first(), grant);
        before.abandon();

        assertCalled(called, "after the release and the leave of the waiter before it");
        waiter.await(PATIENCE);
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("calls a waiter whose place has changed: the one before it gave up, and later the lock is released")
    void signal_placeChanged_calls() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver before = driver(second(), name);
        before.queueUp();
        BackendDriver waiter = driver(first(), name);
        Semaphore calls = new Semaphore(0);
        Ticket listeningTo = listening(waiter, calls, null);

        before.abandon();
        listeningTo = listening(waiter, calls, listeningTo);
        for (int i = 0; i < 10 && calls.tryAcquire(1, TimeUnit.SECONDS); i++) {
            listeningTo = listening(waiter, calls, listeningTo);
        }
        release(first(), grant);

        assertThat(calls.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .as("called after the release, having asked again since the waiter before it left")
                .isTrue();
        waiter.await(PATIENCE);
    }

    /** Asks again and, like the engine, listens once to a ticket, however often the same one is given. */
    private Ticket listening(BackendDriver waiter, Semaphore calls, @Nullable Ticket listeningTo) {
        Ticket ticket = ticket(waiter);
        if (!ticket.equals(listeningTo)) {
            closing(waiter.backend().subscribe(ticket, calls::release)::close);
        }
        return ticket;
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("calls a waiter even if the lock became free before it listened")
    void signal_freeBeforeListening_calls() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        Ticket ticket = ticket(waiter);
        release(first(), grant);

        CountDownLatch called = signalled(waiter, ticket);

        assertCalled(called, "although the lock became free before the call of subscribe()");
    }

    @TestIf(Need.PROMPT_SIGNAL)
    @DisplayName("lets a waiter stop listening, more than once")
    void signal_closedTwice_isFine() {
        String name = newName();
        granted(first(), name);
        BackendDriver waiter = driver(second(), name);

        Subscription subscription = second().subscribe(ticket(waiter), () -> {});
        subscription.close();
        subscription.close();

        waiter.queueUp();
    }

    private static Ticket ticket(BackendDriver waiter) {
        Ticket ticket = waiter.queueUp().ticket();
        assertThat(ticket)
                .as("ticket of a waiter of a backend whose signals are prompt")
                .isNotNull();
        return Objects.requireNonNull(ticket);
    }

    private CountDownLatch signalled(BackendDriver waiter, Ticket ticket) {
        CountDownLatch called = new CountDownLatch(1);
        closing(waiter.backend().subscribe(ticket, called::countDown)::close);
        return called;
    }

    private static void assertCalled(CountDownLatch called, String when) throws InterruptedException {
        assertThat(called.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .as("the waiter was called back " + when)
                .isTrue();
    }
}
