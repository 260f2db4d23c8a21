package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class FencingContract extends ClientGroup {

    public FencingContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("rises strictly from client to client")
    void token_clientToClient_rises() throws Exception {
        String name = newName();
        long last = 0;
        for (int i = 0; i < 40; i++) {
            LockClient client = i % 2 == 0 ? first() : second();
            try (Lease lease = client.lock(name).acquire()) {
                assertThat(lease.token()).as("token of acquisition %d", i).isGreaterThan(last);
                last = lease.token();
            }
        }
    }

    @Test
    @DisplayName("rises strictly when the lock is handed from thread to thread, even without a round trip")
    void token_handOff_rises() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        Lease held = lock.acquire();
        List<CompletableFuture<Long>> tokens = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            Actor actor = actor();
            tokens.add(actor.start(() -> {
                try (Lease lease = lock.acquire()) {
                    return lease.token();
                }
            }));
            actor.awaitBlocked();
        }
        List<Long> inOrder = new ArrayList<>(List.of(held.token()));
        held.close();
        for (CompletableFuture<Long> token : tokens) {
            inOrder.add(Actor.result(token));
        }
        try (Lease next = second().lock(name).acquire()) {
            inOrder.add(next.token());
        }

        assertThat(inOrder).as("tokens in the order of the waiters").isSorted().doesNotHaveDuplicates();
    }

    @Test
    @DisplayName("stays the same while the lock is held, and is told by holder()")
    void token_held_isConstant() throws Exception {
        withGrowingLease(this::tokenIsConstant);
    }

    private void tokenIsConstant(Duration leaseLength) throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name, leaseOf(leaseLength, Renewal.AUTO));
        lock.lock();
        try {
            Lease held = lock.held().orElseThrow();
            long token = held.token();
            assertThat(token).isPositive();
            untilRenewed(firstCounts(), held, 0);
            lock.lock();
            lock.unlock();
            assertThat(held.token()).isEqualTo(token);
            assertHolderToken("after a re-entry", second().holder(name), token);
        } finally {
            lock.unlock();
        }
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("of a lost lease stays readable, and is lower than its successor's")
    void token_lost_isLower() throws Exception {
        String name = newName();
        Lease lost = first().lock(name, shortLease(Renewal.AUTO)).acquire();
        long token = lost.token();
        fixture().expire(name);
        try (Lease successor = second().lock(name).acquire(PATIENCE)) {
            awaitLoss(lost);
            assertThat(lost.token()).isEqualTo(token);
            assertThat(successor.token()).isGreaterThan(token);
        }
        assertThatThrownBy(lost::close)
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.token()).isEqualTo(token));
    }
}
