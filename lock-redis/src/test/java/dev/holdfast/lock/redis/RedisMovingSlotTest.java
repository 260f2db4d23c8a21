package dev.holdfast.lock.redis;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Locks of a cluster while the slots that they are in move from one master to another. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisMovingSlotTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private RedisClusterFixture fixture;
    private LockBackend a;
    private LockBackend b;

    @BeforeAll
    void start() throws Exception {
        fixture = new RedisClusterFixture();
        a = fixture.newBackend();
        b = fixture.newBackend();
    }

    @AfterAll
    void stop() {
        a.close();
        b.close();
        fixture.close();
    }

    @Test
    void freeLocks_areGrantedRenewedAndReleased_underLoad() throws Exception {
        List<String> names = List.of("one", "two", "three", "four");
        AtomicBoolean enough = new AtomicBoolean();
        AtomicLong rounds = new AtomicLong();
        ExecutorService pool = Executors.newFixedThreadPool(names.size());
        try {
            List<Future<?>> load = new ArrayList<>();
            for (String name : names) {
                load.add(pool.submit(() -> {
                    long last = 0;
                    while (!enough.get()) {
                        last = cycle(name, last);
                        rounds.incrementAndGet();
                    }
                    return null;
                }));
            }
            for (int move = 0; move < 6; move++) {
                for (String name : names) {
                    moveUnderLoad(SlotHash.getSlot("holdfast:{" + name + "}"), rounds);
                }
            }
            enough.set(true);
            for (Future<?> done : load) {
                done.get(1, TimeUnit.MINUTES);
            }
        } finally {
            enough.set(true);
            pool.shutdownNow();
        }
    }

    /** One failed request ends the test. */
    private long cycle(String name, long last) throws Exception {
        AcquireResult result = Attempts.tryAcquire(a, BackendDriver.newAcquisition(name), 60_000, false, null);
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        Grant grant = ((AcquireResult.Granted) result).grant();
        assertThat(grant.token()).isGreaterThan(last);
        assertThat(holder(a, name)).isPresent();
        assertThat(renew(a, List.of(grant))).containsExactly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        return grant.token();
    }

    /** The load goes on for a while at each stage of the move. */
    private void moveUnderLoad(int slot, AtomicLong rounds) throws Exception {
        RedisServer from = fixture.cluster().master(slot);
        RedisServer to = otherMaster(from);
        fixture.cluster().beginMove(slot, to);
        letRun(rounds);
        for (Object key : from.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "1000")) {
            from.command("MIGRATE", to.host(), "" + to.port(), String.valueOf(key), "0", "5000");
        }
        letRun(rounds);
        assertThat(from.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "1000"))
                .as("keys made anew where the slot is no more")
                .isEmpty();
        fixture.cluster().endMove(slot, from, to);
    }

    private static void letRun(AtomicLong rounds) {
        long before = rounds.get();
        await().pollInterval(Duration.ofMillis(2)).atMost(PATIENCE).until(() -> rounds.get() > before + 20);
    }

    private RedisServer otherMaster(RedisServer from) {
        return fixture.cluster().nodes().stream()
                .limit(3)
                .filter(node -> node != from)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void heldLock_whileItsSlotMoves_waitersPollAndGetIt_andTheQueueWorksAgainAfterwards() throws Exception {
        String name = "contended";
        int slot = SlotHash.getSlot("holdfast:{" + name + "}");
        RedisServer from = fixture.cluster().master(slot);
        RedisServer to = otherMaster(from);
        Grant held = Attempts.grant(a, BackendDriver.newAcquisition(name));
        fixture.cluster().beginMove(slot, to);
        AcquisitionId waiting = BackendDriver.newAcquisition(name);
        AcquireResult.Busy busy = Attempts.busy(b, waiting, 60_000, true, null);
        assertThat(busy.remainingMillis()).isBetween(1L, Attempts.LEASE_MILLIS);
        assertThat(busy.ticket()).as("a place in the queue").isNull();
        from.command("MIGRATE", to.host(), "" + to.port(), "holdfast:{" + name + "}", "0", "5000");
        Attempts.busy(b, waiting, 60_000, true, null);
        assertThat(release(a, held)).isEqualTo(ReleaseResult.RELEASED);
        Grant next = ((AcquireResult.Granted) Attempts.tryAcquire(b, waiting, 60_000, true, null)).grant();
        assertThat(next.token()).isGreaterThan(held.token());
        fixture.cluster().endMove(slot, from, to);

        AcquisitionId later = BackendDriver.newAcquisition(name);
        Ticket ticket = Attempts.busy(a, later, 60_000, true, null).ticket();
        assertThat(ticket).isNotNull();
        release(b, next);
        release(a, ((AcquireResult.Granted) Attempts.tryAcquire(a, later, 60_000, true, ticket)).grant());
        assertThat(fixture.entries(name)).isZero();
    }

    @Test
    void waiterFromBeforeTheMove_isServed_andItsPlaceDoesNotHinderTheMove() throws Exception {
        String name = "queued";
        int slot = SlotHash.getSlot("holdfast:{" + name + "}");
        RedisServer from = fixture.cluster().master(slot);
        RedisServer to = otherMaster(from);
        Grant held = Attempts.grant(a, BackendDriver.newAcquisition(name));
        AcquisitionId waiting = BackendDriver.newAcquisition(name);
        Ticket ticket = Attempts.busy(b, waiting, 60_000, true, null).ticket();
        fixture.cluster().beginMove(slot, to);
        from.command("MIGRATE", to.host(), "" + to.port(), "holdfast:{" + name + "}", "0", "5000");
        assertThat(release(a, held)).isEqualTo(ReleaseResult.RELEASED);
        Grant next = ((AcquireResult.Granted) Attempts.tryAcquire(b, waiting, 60_000, true, ticket)).grant();
        for (Object key : from.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "1000")) {
            from.command("MIGRATE", to.host(), "" + to.port(), String.valueOf(key), "0", "5000");
        }
        fixture.cluster().endMove(slot, from, to);
        assertThat(release(b, next)).isEqualTo(ReleaseResult.RELEASED);
    }

    /**
     * It cannot leave the queue with its grant, whose script has the state as its only key. So it gives the lock back. A release hands
     * the lock over only to who has tried in the last three seconds, for which a busy machine may need several tries.
     */
    @Test
    void waiterFromBeforeTheMove_thatReleasesDuringIt_givesBackWhatItIsHandedAfterwards() throws Exception {
        boolean judged = false;
        for (int i = 0; i < 5 && !judged; i++) {
            judged = givesBackWhatItIsHanded("left-behind-" + i);
        }
        assertThat(judged).as("one of five tries took less than three seconds").isTrue();
    }

    /** Whether it was quick enough to be judged. */
    private boolean givesBackWhatItIsHanded(String name) throws Exception {
        String key = "holdfast:{" + name + "}";
        int slot = SlotHash.getSlot(key);
        RedisServer from = fixture.cluster().master(slot);
        RedisServer to = otherMaster(from);
        Grant held = Attempts.grant(a, BackendDriver.newAcquisition(name));
        AcquisitionId waiting = BackendDriver.newAcquisition(name);
        List<Grant> handedOver = new CopyOnWriteArrayList<>();
        queueUp(b, waiting, handedOver, from);
        long startNanos = System.nanoTime();
        fixture.cluster().beginMove(slot, to);
        from.command("MIGRATE", to.host(), "" + to.port(), key, "0", "5000");
        release(a, held);
        release(b, Attempts.grant(b, waiting));
        Grant next = Attempts.grant(a, BackendDriver.newAcquisition(name));
        for (Object moved : from.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "1000")) {
            from.command("MIGRATE", to.host(), "" + to.port(), String.valueOf(moved), "0", "5000");
        }
        fixture.cluster().endMove(slot, from, to);
        AcquisitionId later = BackendDriver.newAcquisition(name);
        queueUp(b, later, handedOver, to);

        assertThat(release(a, next)).isEqualTo(ReleaseResult.RELEASED);

        if (System.nanoTime() - startNanos > TimeUnit.MILLISECONDS.toNanos(2_900)) {
            return false;
        }
        await().atMost(PATIENCE).until(() -> !handedOver.isEmpty());
        assertThat(handedOver).extracting(Grant::acquisition).containsExactly(later);
        assertThat(release(b, handedOver.get(0))).isEqualTo(ReleaseResult.RELEASED);
        assertThat(holder(a, name)).as("who holds it after the last release").isEmpty();
        return true;
    }

    /**
     * Tries until the server can hand the lock over: then the client has subscribed there, and its entry says so. The entry alone does
     * not tell, because just after a move the client may not know yet that the other server has ended its subscription.
     */
    private static void queueUp(
            LockBackend backend, AcquisitionId acquisition, List<Grant> handedOver, RedisServer server) {
        AtomicReference<Ticket> ticket = new AtomicReference<>();
        await().pollInterval(Duration.ofMillis(2)).atMost(PATIENCE).until(() -> {
            AcquireResult answer = answer(backend.tryAcquire(new AcquireRequest(
                    acquisition,
                    Attempts.LEASE_MILLIS,
                    60_000,
                    true,
                    ticket.get(),
                    BackendDriver.TIMEOUT_MILLIS,
                    BackendDriver.IDENTITY,
                    handedOver::add)));
            ticket.set(((AcquireResult.Busy) answer).ticket());
            String waiters = "holdfast:{" + acquisition.name() + "}:w";
            Object entry = server.list("HMGET", waiters, acquisition.owner().toString());
            String channels = "holdfast:{" + acquisition.name() + "}:c:*";
            return String.valueOf(entry).contains(" S ")
                    && !server.list("PUBSUB", "SHARDCHANNELS", channels).isEmpty();
        });
    }

    /** A command with several keys is refused then, and their leases would end, however long the move takes. */
    @Test
    void locksOfOneSlot_ofWhichTheMoveHasTakenOne_areAllRenewed() throws Exception {
        int slot = SlotHash.getSlot("holdfast:{half}");
        String other = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "half" + i)
                .filter(name -> SlotHash.getSlot("holdfast:{" + name + "}") == slot)
                .findFirst()
                .orElseThrow();
        List<Grant> held = List.of(
                Attempts.grant(a, BackendDriver.newAcquisition("half")),
                Attempts.grant(a, BackendDriver.newAcquisition(other)));
        RedisServer from = fixture.cluster().master(slot);
        RedisServer to = otherMaster(from);
        fixture.cluster().beginMove(slot, to);
        from.command("MIGRATE", to.host(), "" + to.port(), "holdfast:{half}", "0", "5000");

        assertThat(renew(a, held)).hasSize(2).containsOnly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));

        from.command("MIGRATE", to.host(), "" + to.port(), "holdfast:{" + other + "}", "0", "5000");
        fixture.cluster().endMove(slot, from, to);
        for (Grant grant : held) {
            assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }
}
