package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Who holds and who waits, and until when, on a made-up clock; what the contract asks is not repeated. */
final class MemoryQueueTest {
    private static final long SHORT = 1_000;
    private static final long LONG = 3_600_000;

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final MemoryStore store = MemoryStore.create(nanos::get);
    private final LockBackend backend = store.newBackend();

    private BackendDriver driver(Demand demand, long leaseMillis) {
        return BackendDriver.of(backend, "a", demand, leaseMillis);
    }

    private BackendDriver writer(long leaseMillis) {
        return driver(Demand.EXCLUSIVE, leaseMillis);
    }

    private BackendDriver reader(long leaseMillis) {
        return driver(Demand.SHARED, leaseMillis);
    }

    private BackendDriver permits(int permits, int limit) {
        return driver(new Demand.Permits(permits, limit), LONG);
    }

    private void passMillis(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    @Test
    void attempt_thatIsRepeatedByTheHolder_countsTheLeaseAnew() {
        BackendDriver holder = writer(SHORT);
        Grant grant = holder.acquire();
        passMillis(900);
        assertThat(holder.acquire()).isEqualTo(grant);

        passMillis(999);
        assertThat(writer(SHORT).assertBusy().remainingMillis()).isEqualTo(1);
        passMillis(1);
        writer(SHORT).acquire();
    }

    @Test
    void renewal_countsTheLeaseAnew() {
        Grant grant = writer(SHORT).acquire();
        passMillis(900);
        assertThat(BackendDriver.renew(backend, grant)).isEqualTo(new RenewResult.Renewed(SHORT));

        passMillis(999);
        assertThat(writer(SHORT).assertBusy().remainingMillis()).isEqualTo(1);
        passMillis(1);
        assertThat(BackendDriver.renew(backend, grant))
                .isEqualTo(new RenewResult.Lost(LossReason.REVOKED, "no longer held; it has no holder"));
        Grant next = writer(SHORT).acquire();
        assertThat(BackendDriver.renew(backend, grant))
                .isEqualTo(new RenewResult.Lost(
                        LossReason.REVOKED, "no longer held; now held with token " + next.token()));
    }

    @Test
    void busy_saysWhenTheFirstLeaseEnds_ifAnyDoes() {
        reader(2 * SHORT).acquire();
        reader(SHORT).acquire();
        reader(LONG).acquire();
        assertThat(writer(SHORT).assertBusy().remainingMillis()).isEqualTo(SHORT);
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(SHORT) - 1);
        assertThat(writer(SHORT).assertBusy().remainingMillis())
                .as("less than a millisecond")
                .isEqualTo(1);

        writer(LONG).queueUp();
        store.expire("a");
        assertThat(writer(SHORT).assertBusy().remainingMillis())
                .as("nobody holds it")
                .isEqualTo(-1);
    }

    @Test
    void waiter_thatAsksWithoutWaiting_givesItsPlaceUp() {
        writer(LONG).acquire();
        BackendDriver waiter = writer(LONG);
        assertThat(waiter.queueUp().ticket()).isNotNull();
        assertThat(store.entries("a")).isEqualTo(2);

        assertThat(waiter.assertBusy().ticket()).isNull();

        assertThat(store.entries("a")).isEqualTo(1);
    }

    @Test
    void limit_isThatOfWhoHoldsOrWaits_notOfWhoWasRefused() {
        BackendDriver alone = writer(LONG);
        alone.acquire();
        permits(1, 3).assertBusy();
        BackendDriver waits = permits(1, 4);
        waits.queueUp();

        assertThat(permits(1, 5).tryAcquire(0)).isEqualTo(new AcquireResult.OtherLimit(4));
    }

    @Test
    void place_isKeptForTheLease_orForThreePolls_sinceItsWaiterAsked() {
        long threePolls = 3_000;
        for (long leaseMillis : new long[] {SHORT, 5_000}) {
            BackendDriver silent = writer(leaseMillis);
            BackendDriver holder = writer(LONG);
            holder.acquire();
            silent.queueUp();
            passMillis(threePolls - 1);
            silent.queueUp();
            holder.abandon();

            passMillis(Math.max(leaseMillis, threePolls) - 1);
            writer(LONG).assertBusy();
            passMillis(1);
            BackendDriver next = writer(LONG);
            next.acquire();
            next.abandon();
        }
    }

    @Test
    void place_ofAWriterThatFellSilent_doesNotKeepReadersFromReaders() {
        reader(LONG).acquire();
        writer(SHORT).queueUp();
        BackendDriver reads = reader(LONG);
        reads.queueUp();
        passMillis(2_999);
        reads.queueUp();

        passMillis(1);

        reads.acquireQueued();
    }

    @Test
    void places_behindOneThatHasItAlone_areKept_whoeverFellSilent() {
        BackendDriver holder = writer(LONG);
        holder.acquire();
        writer(SHORT).queueUp();
        BackendDriver last = writer(SHORT);
        last.queueUp();
        passMillis(10_000);
        last.queueUp();
        assertThat(store.entries("a")).isEqualTo(3);

        holder.abandon();

        last.acquireQueued();
        assertThat(store.entries("a")).isEqualTo(1);
    }

    @Test
    void close_givesUpTheOwnPlacesOnly() {
        LockBackend other = store.newBackend();
        writer(LONG).acquire();
        BackendDriver.of(other, "a").queueUp();
        BackendDriver own = writer(LONG);
        own.queueUp();

        other.close();

        assertThat(store.entries("a")).isEqualTo(2);
        store.expire("a");
        own.acquireQueued();
    }

    @Test
    void subscriptions_ofAllForWhomThereIsRoom_areCalledOnce_butNotAfterTheirEnd() {
        BackendDriver holder = writer(LONG);
        holder.acquire();
        List<String> calls = new ArrayList<>();
        List<Subscription> subscriptions = new ArrayList<>();
        for (String name : List.of("first", "second", "third")) {
            BackendDriver waiter = reader(LONG);
            waiter.queueUp();
            subscriptions.add(backend.subscribe(waiter.ticket(), () -> calls.add(name)));
        }
        subscriptions.get(1).close();
        assertThat(calls).isEmpty();

        holder.abandon();
        BackendDriver.holders(backend, "a");

        assertThat(calls).containsExactly("first", "third");
    }

    @Test
    void subscription_ofAPlaceThatIsGone_isCalledAtOnce() {
        BackendDriver holder = writer(LONG);
        holder.acquire();
        BackendDriver waiter = writer(SHORT);
        waiter.queueUp();
        waiter.abandon();
        List<String> calls = new ArrayList<>();

        Subscription subscription = backend.subscribe(waiter.ticket(), () -> calls.add("gone"));

        assertThat(calls).containsExactly("gone");
        subscription.close();
        assertThat(calls).hasSize(1);
    }

    @Test
    void attempt_thatComesAfterItsAbandonment_getsNothing_forAMinute() {
        BackendDriver late = writer(LONG);
        late.abandon();
        AcquireResult nothing = new AcquireResult.Busy(-1, null);
        assertThat(late.tryAcquire(BackendDriver.WAIT_MILLIS)).isEqualTo(nothing);
        passMillis(30_000);
        writer(LONG).abandon();
        passMillis(30_000);
        assertThat(late.tryAcquire(BackendDriver.WAIT_MILLIS)).isEqualTo(nothing);
        assertThat(store.entries("a")).isZero();

        nanos.incrementAndGet();

        assertThat(late.acquireQueued().token()).isEqualTo(1);
    }

    @Test
    void list_hasAtMostAHundredWaiters_withWhatTheyWaitFor_andNothingThatHasEnded() {
        Grant grant = reader(LONG).acquire();
        for (int i = 0; i < ListedLock.MAX_WAITERS + 1; i++) {
            writer(LONG + i).queueUp();
        }
        BackendDriver.of(backend, "b", SHORT).acquire();

        ListedLock listed = list().get(0);
        assertThat(list()).extracting(ListedLock::name).containsExactly("a", "b");
        assertThat(listed.waiters()).hasSize(ListedLock.MAX_WAITERS);
        HolderInfo waiter = listed.waiters().get(0);
        assertThat(waiter).isEqualTo(BackendDriver.IDENTITY.holderInfo(0, waiter.since(), Demand.EXCLUSIVE, 0));
        HolderInfo holder = listed.holder().orElseThrow();
        assertThat(holder)
                .isEqualTo(BackendDriver.IDENTITY.holderInfo(grant.token(), holder.since(), Demand.SHARED, 0));
        passMillis(SHORT);
        assertThat(list()).extracting(ListedLock::name).containsExactly("a");
    }

    private List<ListedLock> list() {
        return backend.list("", 10, 1).toCompletableFuture().join().locks();
    }
}
