package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.Terms;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class ElectionContract extends ClientGroup {

    public ElectionContract(ContractContext context) {
        super(context);
    }

    private Election stand(LockClient client, String name, Terms terms) {
        return closing(client.election(name)
                .onElected(terms::elected)
                .onRevoked(terms::revoked)
                .start());
    }

    private static void awaitLeader(Election election, Terms terms) {
        Waits.until("a leader", () -> election.isLeader() && !terms.kinds().isEmpty());
    }

    @Test
    @DisplayName("has one leader, names it, and elects another when it closes, with a higher token")
    void election_leaderCloses_nextIsElected() throws Exception {
        String name = newName();
        Terms terms = new Terms();
        Terms others = new Terms();
        Election leads = stand(first(), name, terms);
        awaitLeader(leads, terms);
        Election stands = stand(second(), name, others);

        assertHolderToken("the leader", stands.leader(), terms.last().token());
        assertThat(stands.isLeader()).isFalse();
        leads.close();
        awaitLeader(stands, others);

        assertThat(leads.isLeader()).isFalse();
        assertThat(terms.last().isValid())
                .as("leadership of the one that closed")
                .isFalse();
        assertThat(terms.kinds()).containsExactly("elected", "revoked");
        assertThat(others.kinds()).containsExactly("elected");
        assertThat(others.last().token()).isGreaterThan(terms.last().token());
        assertThat(leads.yield(Duration.ZERO)).as("no leader resigns").isFalse();
    }

    @Test
    @DisplayName("interrupts a leader that resigns, keeps the lock until its callback has returned, and elects another")
    void election_leaderYields_otherIsElected() throws Exception {
        String name = newName();
        Terms terms = new Terms();
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch mayReturn = new CountDownLatch(1);
        CompletableFuture<Boolean> heldAtTheEnd = new CompletableFuture<>();
        Election leads = closing(first().election(name)
                .onElected(leadership -> {
                    terms.elected(leadership);
                    running.countDown();
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        mayReturn.await();
                        heldAtTheEnd.complete(second().holder(name).isPresent());
                    }
                })
                .onRevoked(terms::revoked)
                .start());
        running.await();
        Terms others = new Terms();
        Election stands = stand(second(), name, others);

        assertThat(leads.yield(Duration.ofSeconds(2))).isTrue();
        Waits.until("it leads no more", () -> !leads.isLeader());
        assertThat(terms.kinds())
                .as("no second callback before the first has returned")
                .containsExactly("elected");
        assertThatThrownBy(() -> terms.last().ensure(Duration.ZERO)).isInstanceOf(IllegalStateException.class);
        mayReturn.countDown();
        awaitLeader(stands, others);

        assertThat(heldAtTheEnd.join()).as("held while the callback ran").isTrue();
        assertThat(terms.kinds()).containsExactly("elected", "revoked");
        assertThat(others.last().token()).isGreaterThan(terms.last().token());
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("revokes a leader whose lease is lost, once, and stands again")
    void election_leaseLost_standsAgain() throws Exception {
        String name = newName();
        Terms terms = new Terms();
        Election election = closing(first().election(name)
                .onElected(terms::elected)
                .onRevoked(terms::revoked)
                .options(shortLease(Renewal.AUTO))
                .start());
        awaitLeader(election, terms);

        fixture().expire(name);
        Waits.until("a leader again", () -> terms.kinds().size() == 3);

        assertThat(terms.kinds()).containsExactly("elected", "revoked", "elected");
        List<Long> tokens = terms.tokens();
        assertThat(tokens.get(1)).as("the leadership that is revoked").isEqualTo(tokens.get(0));
        assertThat(tokens.get(2)).as("the later leader's token").isGreaterThan(tokens.get(0));
        assertThat(terms.first().isValid()).isFalse();
        assertThatThrownBy(() -> terms.first().ensure(Duration.ZERO)).isInstanceOf(LeaseLostException.class);
    }

    @Test
    @DisplayName("revokes a leader that fails, and stands again")
    void election_leaderFails_standsAgain() throws Exception {
        String name = newName();
        Terms terms = new Terms();
        Election election = closing(first().election(name)
                .onElected(leadership -> {
                    terms.elected(leadership);
                    if (terms.kinds().size() == 1) {
                        throw new IllegalStateException("on purpose: the first leader fails");
                    }
                })
                .onRevoked(terms::revoked)
                .start());

        Waits.until("a leader again", () -> terms.kinds().size() == 3);

        assertThat(terms.kinds()).containsExactly("elected", "revoked", "elected");
        assertThat(election.isLeader()).isTrue();
    }

    @Test
    @DisplayName("interrupts a leader a stop time before its lease ends, after a hand-over too, and completes lost()")
    void election_renewalsFail_leaderHasItsStopTime() throws Exception {
        withGrowingLease(this::stopInTime);
    }

    private void stopInTime(Duration length) throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        Duration stopTime = length.dividedBy(3);
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        CompletableFuture<Duration> left = new CompletableFuture<>();
        Lease before = second().lock(name).acquire();
        closing(own.client()
                .election(name)
                .options(leaseOf(length, Renewal.AUTO))
                .stopTime(stopTime)
                .onElected(leadership -> {
                    leadership.lost().thenAccept(lost::complete);
                    remaining(own.client(), name); // later, loading classes would count as time that the leader lost
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        left.complete(remaining(own.client(), name));
                    }
                })
                .start());
        Waits.until("it waits", () -> own.counts().busyAcquisitions(name) > 0);
        before.close();
        Waits.until("two renewals", () -> own.counts().count(Request.RENEW, name) > 1 || left.isDone());

        own.faults().always(Request.RENEW, Fault.REFUSED);

        assertThat(left.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("what is left of a lease of %s", length)
                .isGreaterThan(stopTime.dividedBy(2));
        assertThat(lost.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
    }

    private static Duration remaining(LockClient client, String name) {
        return client.held().stream()
                .filter(usage -> usage.name().equals(name))
                .flatMap(usage -> usage.holder().stream())
                .map(LockUsage.Holder::remaining)
                .findFirst()
                .orElse(Duration.ZERO);
    }
}
