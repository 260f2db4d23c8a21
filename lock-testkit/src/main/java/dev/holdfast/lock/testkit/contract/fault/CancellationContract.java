package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.HeldReply;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The places at which an acquisition can be when its caller gives up. The lock is free again long before its lease ends. */
public abstract class CancellationContract extends ClientGroup {
    /** A release never makes a waiter the holder that does not renew: such a waiter is called, and asks. */
    private static final LockOptions NOT_HANDED_OVER =
            LockOptions.builder().renewal(Renewal.NONE).build();

    private static final Duration SOON = Duration.ofSeconds(10);
    private FaultyClient own;

    @SuppressWarnings("NullAway.Init")
    public CancellationContract(ContractContext context) {
        super(context);
    }

    @BeforeEach
    void openClient() {
        own = faultyClient(LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(1_500))
                .build());
    }

    /** Its calls do not end before the test lets the answer through. */
    private FaultyClient patientClient() {
        return faultyClient(LockClientOptions.builder().requestTimeout(SOON).build());
    }

    @Test
    @DisplayName("of a thread whose grant is on its way back throws at once, and the grant is released")
    void interrupt_grantOnItsWay_isReleased() throws Exception {
        String name = newName();
        HeldReply grant = own.faults().hold(Request.ATTEMPT);
        Actor actor = actor();
        CompletableFuture<Lease> waiting =
                actor.start(() -> own.client().lock(name).acquire());
        grant.awaitArrival(PATIENCE);
        actor.awaitBlocked();

        actor.interrupt();

        assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
        grant.deliver();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of a thread whose grant never comes back throws at once, and the grant is cleaned up")
    void interrupt_grantNeverArrives_isCleanedUp() throws Exception {
        String name = newName();
        own.faults().once(Request.ATTEMPT, Fault.SILENCE);

        interruptUnanswered(name);

        assertBecomesFree(name, SOON);
    }

    /** Its attempt has been sent and is not answered. */
    private void interruptUnanswered(String name) throws Exception {
        Actor actor = actor();
        CompletableFuture<Lease> waiting =
                actor.start(() -> own.client().lock(name).acquire());
        Waits.until("the attempt was sent", () -> own.counts().count(Request.ATTEMPT, name) > 0);
        actor.awaitBlocked();
        actor.interrupt();
        assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
    }

    @Test
    @DisplayName("of a thread that was told that the lock is busy leaves the way free")
    void interrupt_waitingForSignal_leavesWayFree() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        Actor actor = actor();
        CompletableFuture<Lease> waiting =
                actor.start(() -> own.client().lock(name).acquire());
        Waits.until("told that it is busy", () -> own.counts().busyAcquisitions(name) > 0);
        actor.awaitBlocked();

        actor.interrupt();

        assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
        held.close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of a thread whose grant after a wait is on its way back leaves the way free")
    void interrupt_secondAttempt_leavesWayFree() throws Exception {
        Actor actor = actor();
        boolean kept = false;
        while (!kept) {
            String name = newName();
            Lease held = second().lock(name).acquire();
            CompletableFuture<Lease> waiting =
                    actor.start(() -> own.client().lock(name, NOT_HANDED_OVER).acquire());
            Waits.until("told that it is busy", () -> own.counts().busyAcquisitions(name) > 0);
            HeldReply next = own.faults().hold(Request.ATTEMPT);
            held.close();
            Waits.until("its next attempt is answered", () -> next.hasArrived() || waiting.isDone());
            kept = next.hasArrived();
            if (kept) {
                actor.interrupt();

                assertThat(Actor.failure(waiting)).isInstanceOf(InterruptedException.class);
                next.deliver();
            } else { // a poll was in flight before its reply was to be kept back, and got the lock
                own.faults().calm();
                Actor.result(waiting).close();
            }
            assertBecomesFree(name, SOON);
        }
    }

    @Test
    @DisplayName("whose clean-up fails is cleaned up again")
    void interrupt_cleanUpFails_isRepeated() throws Exception {
        String name = newName();
        own.faults().once(Request.ATTEMPT, Fault.SILENCE);
        own.faults().once(Request.ABANDON, Fault.REFUSED);
        own.faults().once(Request.ABANDON, Fault.LOST_REPLY);
        own.faults().once(Request.RELEASE, Fault.REFUSED);

        interruptUnanswered(name);

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of the thread that asks the server lets the next thread of the client ask")
    void interrupt_askingThread_nextAsks() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        Actor one = actor();
        CompletableFuture<Lease> first = one.start(() -> own.client().lock(name).acquire());
        Waits.until("told that it is busy", () -> own.counts().busyAcquisitions(name) > 0);
        Actor two = actor();
        CompletableFuture<Lease> second =
                two.start(() -> own.client().lock(name).acquire());
        two.awaitBlocked();

        one.interrupt();
        assertThat(Actor.failure(first)).isInstanceOf(InterruptedException.class);
        held.close();

        Actor.result(second).close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName(
            "by a time limit while the server is silent ends with LockUnavailableException as soon as one request may, and cleans up")
    void timeLimit_silentServer_endsInTime() throws Exception {
        String name = newName();
        own.faults().once(Request.ATTEMPT, Fault.SILENCE);
        long startNanos = System.nanoTime();

        CompletableFuture<Optional<Lease>> call =
                actor().start(() -> own.client().lock(name).tryAcquire(Duration.ofMillis(300)));

        assertThat(Actor.failure(call))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(name);
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos))
                .as("time until it ended")
                .isBetween(1_490L, 9_000L);
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName(
            "by a time limit shorter than a round trip does not come before the first answer: a free lock is taken")
    void timeLimit_shorterThanRoundTrip_takesFreeLock() throws Exception {
        String name = newName();
        FaultyClient patient = patientClient();
        HeldReply grant = patient.faults().hold(Request.ATTEMPT);
        Actor thread = actor();
        CompletableFuture<Boolean> locked =
                thread.start(() -> patient.client().lock(name).tryLock(1, TimeUnit.MILLISECONDS));
        grant.awaitArrival(PATIENCE);
        awaitPassed(Duration.ofMillis(20));
        assertThat(locked).as("told before the answer").isNotDone();
        grant.deliver();
        assertThat(Actor.result(locked)).as("tryLock(1 ms) on a free lock").isTrue();
        thread.run(patient.client().lock(name)::unlock);

        HeldReply next = patient.faults().hold(Request.ATTEMPT);
        CompletableFuture<Lease> lease = patient.client().lock(name).acquireAsync(Duration.ofMillis(1));
        next.awaitArrival(PATIENCE);
        awaitPassed(Duration.ofMillis(20));
        next.deliver();
        Actor.result(lease).close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("by a time limit shorter than a round trip is told busy by the first answer, and leaves nothing")
    void timeLimit_shorterThanRoundTrip_isBusy() throws Exception {
        String name = newName();
        FaultyClient patient = patientClient();
        Lease held = second().lock(name).acquire();
        HeldReply busy = patient.faults().hold(Request.ATTEMPT);
        List<CompletableFuture<Boolean>> calls = List.of(
                actor().start(() -> patient.client().lock(name).tryLock(1, TimeUnit.MILLISECONDS)),
                actor().start(() -> patient.client()
                        .lock(name)
                        .tryAcquire(Duration.ofMillis(2))
                        .isPresent()));
        busy.awaitArrival(PATIENCE);
        awaitPassed(Duration.ofMillis(20));
        busy.deliver();

        for (CompletableFuture<Boolean> call : calls) {
            assertThat(Actor.result(call)).as("got the lock that is held").isFalse();
        }
        assertThat(patient.client().held()).as("held or awaited").isEmpty();
        held.close();
        assertBecomesFree(name, SOON);
    }

    /** A length of time that a test is about, and not a wait for something. */
    private static void awaitPassed(Duration time) {
        long startNanos = System.nanoTime();
        Waits.until(time + " have passed", () -> System.nanoTime() - startNanos > time.toNanos());
    }

    @Test
    @DisplayName("by a time limit while the grant is on its way back releases the grant when it arrives")
    void timeLimit_lateGrant_isReleased() throws Exception {
        String name = newName();
        HeldReply grant = own.faults().hold(Request.ATTEMPT);
        CompletableFuture<Lease> call = own.client().lock(name).acquireAsync(Duration.ofMillis(200));
        grant.awaitArrival(PATIENCE);

        assertThat(Actor.failure(call)).isInstanceOf(LockUnavailableException.class);
        grant.deliver();

        assertBecomesFree(name, SOON);
    }
}
