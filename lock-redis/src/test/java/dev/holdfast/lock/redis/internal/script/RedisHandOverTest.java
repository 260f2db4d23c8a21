package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.redis.Attempts.LEASE_MILLIS;
import static dev.holdfast.lock.redis.Attempts.grant;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A release makes the first waiter the holder, and the message says so: the waiter sends no request for it. */
final class RedisHandOverTest extends TwoBackends {
    private final BlockingQueue<Grant> handed = new LinkedBlockingQueue<>();
    private final BlockingQueue<AcquisitionId> called = new LinkedBlockingQueue<>();

    @BeforeEach
    void forget() {
        handed.clear();
        called.clear();
    }

    @Test
    void release_makesTheFirstWaiterTheHolder_withoutARequestOfIts() throws Exception {
        withoutPause(this::releaseMakesTheFirstWaiterTheHolder);
    }

    private void releaseMakesTheFirstWaiterTheHolder() throws Exception {
        release(a, grant(a, acquisition())); // the server has the scripts from now on
        Grant held = grant(a, acquisition());
        AcquisitionId first = acquisition();
        waits(b, first);
        AcquisitionId second = acquisition();
        waits(b, second);
        long before = fixture.commands();
        assertThat(release(a, held)).isEqualTo(ReleaseResult.RELEASED);

        Grant given = handed.poll(60, TimeUnit.SECONDS);
        assertThat(given).isNotNull();
        assertThat(given.acquisition()).isEqualTo(first);
        assertThat(given.token()).isGreaterThan(held.token());
        assertThat(given.leaseMillis()).isEqualTo(LEASE_MILLIS);
        assertThat(fixture.commands() - before).isEqualTo(1);
        assertThat(holder().token()).isEqualTo(given.token());
        assertThat(holder().who()).isEqualTo(IDENTITY.who());
        assertThat(lifeMillis())
                .as("a server that stands still for a while must not end it")
                .isGreaterThan(LEASE_MILLIS - 10_000);

        assertThat(renew(b, given)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        assertThat(lifeMillis()).isGreaterThan(LEASE_MILLIS - 10_000);
        release(b, given);
        assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(second);
        assertThat(fixture.server().number("EXISTS", keys().queue())).isZero();
        assertThat(called).isEmpty();
    }

    @Test
    void tokenAheadOfTheClock_risesInAHandOverToo() throws Exception {
        long ahead = (System.currentTimeMillis() + 3_600_000) * 1_000;
        fixture.server().command("SET", keys().lock(), "0 - 60000 " + ahead + " - ", "PX", "60000");
        Grant held = grant(a, acquisition());
        waits(b, acquisition());
        release(a, held);
        assertThat(handed.poll(60, TimeUnit.SECONDS).token()).isEqualTo(ahead + 2);
    }

    @Test
    void lostMessage_isMadeUpForByTheNextAttempt_withTheSameToken() throws Exception {
        withoutPause(() -> {
            Grant held = grant(a, acquisition());
            AcquisitionId waiting = acquisition();
            Ticket ticket = waits(b, waiting);
            release(a, held);
            Grant given = handed.poll(60, TimeUnit.SECONDS);
            AcquireResult.Granted again = (AcquireResult.Granted) attempt(b, waiting, ticket);
            assertThat(again.grant().token()).isEqualTo(given.token());
            assertThat(again.grant().leaseMillis()).isEqualTo(LEASE_MILLIS);
            assertThat(lifeMillis()).isGreaterThan(LEASE_MILLIS - 10_000);
        });
    }

    /** Of an earlier attempt: its grant may have ended long ago, and the clock of the later one must not be given to it. */
    @Test
    void messageForAnEarlierAttempt_isACallOnly() throws Exception {
        grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        waits(b, waiting);
        String inbox = entry(waiting).split(" ")[2];
        String generation = entry(waiting).split(" ")[4];
        String message = waiting.owner() + " " + (Long.parseLong(generation) - 1) + " 99 2000 p:{n}";
        assertThat(fixture.server().number("PUBLISH", "holdfast:c:" + inbox, message))
                .isEqualTo(1);
        assertThat(called.poll(60, TimeUnit.SECONDS)).isEqualTo(waiting);
        assertThat(handed).isEmpty();
    }

    /** Without that, a later release makes an owner the holder that has released the lock already. */
    @Test
    void waiterThatGetsADeletedLock_leavesTheQueue_andHandsItToTheNext() throws Exception {
        withoutPause(() -> {
            grant(a, acquisition());
            AcquisitionId first = acquisition();
            Ticket ticket = waits(b, first);
            AcquisitionId second = acquisition();
            waits(b, second);
            fixture.server().command("DEL", keys().lock());

            AcquireResult.Granted granted = (AcquireResult.Granted) attempt(b, first, ticket);

            assertThat(fixture.list("ZRANGE", keys().queue(), "0", "-1"))
                    .extracting(String::valueOf)
                    .containsExactly(second.owner().toString());
            release(b, granted.grant());
            assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(second);
        });
    }

    @Test
    void goneWaiter_isPassedOver() throws Exception {
        Grant held = grant(a, acquisition());
        try (LockBackend gone = fixture.newBackend()) {
            waits(gone, acquisition());
        }
        await().atMost(PATIENCE)
                .until(() -> fixture.list("PUBSUB", "CHANNELS", "holdfast:c:*").isEmpty());
        AcquisitionId living = acquisition();
        waits(b, living);
        release(a, held);
        assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(living);
    }

    /**
     * As after a failover. Replicas pass messages on, and PUBLISH does not count their receivers there: who is passed over must not be
     * notified of a grant, since the next one has it.
     */
    @Test
    void waiterThatListensAtAReplica_isPassedOverWithoutAMessage() throws Exception {
        RedisServer master = fixture.server();
        try (RedisServer replica = RedisServer.start("--replicaof", master.host() + " " + master.port());
                RedisClient listening = RedisClient.create("redis://" + replica.host() + ":" + replica.port())) {
            await().atMost(PATIENCE)
                    .until(() -> String.valueOf(replica.command("INFO", "replication"))
                            .contains("link_status:up"));
            Grant held = grant(a, acquisition());
            AcquisitionId away = acquisition();
            String channel;
            try (LockBackend gone = fixture.newBackend()) {
                waits(gone, away);
                channel = "holdfast:c:" + entry(away).split(" ")[2];
            }
            BlockingQueue<String> heard = new LinkedBlockingQueue<>();
            StatefulRedisPubSubConnection<String, String> connection = listening.connectPubSub();
            connection.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String from, String text) {
                    heard.add(text);
                }
            });
            connection.sync().subscribe(channel);
            await().atMost(PATIENCE)
                    .until(() ->
                            fixture.list("PUBSUB", "CHANNELS", "holdfast:c:*").isEmpty());
            AcquisitionId living = acquisition();
            waits(b, living);
            release(a, held);
            assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(living);
            assertThat(master.number("PUBLISH", channel, "end")).isZero();
            assertThat(heard.poll(60, TimeUnit.SECONDS)).isEqualTo("end");
        }
    }

    /** As with the rights that were enough before: waiters are called, as those who cannot be handed the lock. */
    @Test
    void releaseWithoutTheRightToCountListeners_callsTheWaiter() throws Exception {
        Grant held = grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        waits(b, waiting);
        fixture.server().command("ACL", "SETUSER", "locks", "-pubsub");
        try {
            release(a, held);
            assertThat(called.poll(60, TimeUnit.SECONDS)).isEqualTo(waiting);
            assertThat(handed).isEmpty();
        } finally {
            fixture.server().command("ACL", "SETUSER", "locks", "+pubsub");
        }
    }

    /** Its process pauses, say: the connection is there, and nothing reads from it. */
    @Test
    void waiterThatDoesNotReact_costsItsLease_asAHolderDoes() throws Exception {
        Grant held = grant(a, acquisition());
        waits(b, acquisition());
        release(a, held);
        assertThat(handed.poll(60, TimeUnit.SECONDS)).isNotNull();
        assertThat(lifeMillis()).as("what it costs").isLessThanOrEqualTo(LEASE_MILLIS);
        AcquisitionId next = acquisition();
        assertThat(attempt(a, next, null)).isInstanceOf(AcquireResult.Busy.class);
        fixture.server().command("PEXPIRE", keys().lock(), memory());
        await().atMost(PATIENCE).until(() -> attempt(a, next, null) instanceof AcquireResult.Granted);
    }

    @Test
    void whoGaveUp_isNotMadeTheHolder_andWhoGivesUpAsTheHolderHandsItOn() throws Exception {
        withoutPause(() -> {
            Grant held = grant(a, acquisition());
            AcquisitionId gaveUp = acquisition();
            waits(b, gaveUp);
            AcquisitionId second = acquisition();
            waits(b, second);
            AcquisitionId third = acquisition();
            waits(b, third);
            answer(b.abandon(gaveUp, TIMEOUT_MILLIS));
            release(a, held);
            assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(second);
            answer(b.abandon(second, TIMEOUT_MILLIS));
            assertThat(handed.poll(60, TimeUnit.SECONDS).acquisition()).isEqualTo(third);
        });
    }

    /** Its lease is not renewed, or it is of an older kind: it is called, and asks. */
    @Test
    void whoDoesNotTakeIt_isCalled() throws Exception {
        Grant held = grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        Ticket ticket = Attempts.busy(b, waiting, 60_000, true, null).ticket();
        await().atMost(PATIENCE).until(() -> {
            Attempts.busy(b, waiting, 60_000, true, ticket);
            return entry(waiting).contains(" P ");
        });
        b.subscribe(ticket, () -> called.add(waiting));
        called.clear();
        release(a, held);
        assertThat(called.poll(60, TimeUnit.SECONDS)).isEqualTo(waiting);
        assertThat(Attempts.tryAcquire(b, waiting, 60_000, true, ticket)).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void repeatedRelease_isAnsweredAgain_andTakesNothingFromTheHeir() throws Exception {
        withoutPause(() -> {
            Grant held = grant(a, acquisition());
            AcquisitionId waiting = acquisition();
            waits(b, waiting);
            String[] keys = keys().all();
            String[] args = RedisScript.end(
                    held.acquisition().owner().toString(), held.token(), memory(), "release", "0123456789abcdef");
            String[] command = new String[3 + keys.length + args.length];
            command[0] = "EVAL";
            command[1] = RedisScript.RELEASE.body();
            command[2] = "3";
            System.arraycopy(keys, 0, command, 3, keys.length);
            System.arraycopy(args, 0, command, 3 + keys.length, args.length);
            assertThat(fixture.server().command(command)).hasToString("[1]");
            Grant given = handed.poll(60, TimeUnit.SECONDS);
            assertThat(fixture.server().command(command)).hasToString("[1]");
            assertThat(holder().token()).isEqualTo(given.token());
            assertThat(handed).isEmpty();
        });
    }

    @Test
    void clients_passALockOnAndOn_andEachHoldIsRenewedToItsFullLease() throws Exception {
        try (LockClient one = fixture.newClient(LockClientOptions.defaults());
                LockClient two = fixture.newClient(LockClientOptions.defaults())) {
            DistributedLock first = one.lock(name);
            DistributedLock second = two.lock(name);
            long token = 0;
            for (int i = 0; i < 20; i++) {
                token = passOn(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first, token);
            }
            Lease held = first.acquire();
            CompletableFuture<Lease> waiting = second.acquireAsync(PATIENCE).toCompletableFuture();
            await().atMost(PATIENCE).until(() -> fixture.server().number("ZCARD", keys().queue()) == 1);
            held.close();
            try (Lease given = waiting.get(60, TimeUnit.SECONDS)) {
                await().atMost(PATIENCE).until(() -> lifeMillis() > 10_000);
                assertThat(given.isValid()).isTrue();
            }
        }
    }

    private long passOn(DistributedLock from, DistributedLock to, long tokenBefore) throws Exception {
        Lease held = from.acquire();
        assertThat(held.token()).isGreaterThan(tokenBefore);
        CompletableFuture<Lease> waiting = to.acquireAsync(PATIENCE).toCompletableFuture();
        await().atMost(PATIENCE).until(() -> fixture.server().number("ZCARD", keys().queue()) == 1);
        held.close();
        try (Lease given = waiting.get(60, TimeUnit.SECONDS)) {
            assertThat(given.token()).isGreaterThan(held.token());
            return given.token();
        }
    }

    /** A waiter must try again within 5 s, or it leaves the queue. */
    private void withoutPause(Steps steps) throws Exception {
        withoutPause(Duration.ofMillis(4_000), 3, () -> {
            forget();
            steps.run();
        });
    }

    /** Queues, subscribed, so that the lock can be handed over. */
    private Ticket waits(LockBackend backend, AcquisitionId waiting) throws IOException {
        Ticket ticket = ((AcquireResult.Busy) attempt(backend, waiting, null)).ticket();
        assertThat(ticket).isNotNull();
        awaitSubscribed(waiting, backend, ticket);
        backend.subscribe(ticket, () -> called.add(waiting));
        return ticket;
    }

    private void awaitSubscribed(AcquisitionId waiting, LockBackend backend, Ticket ticket) {
        await().atMost(PATIENCE).until(() -> {
            attempt(backend, waiting, ticket);
            return entry(waiting).contains(" P ");
        });
        called.clear();
    }

    private AcquireResult attempt(LockBackend backend, AcquisitionId acquisition, @Nullable Ticket ticket) {
        return answer(backend.tryAcquire(new AcquireRequest(
                acquisition, LEASE_MILLIS, 60_000, true, ticket, TIMEOUT_MILLIS, IDENTITY, handed::add)));
    }

    private String entry(AcquisitionId waiting) throws IOException {
        return String.valueOf(fixture.server()
                .command("HGET", keys().waiters(), waiting.owner().toString()));
    }

    private HolderInfo holder() {
        return answer(a.holder(name, TIMEOUT_MILLIS)).orElseThrow();
    }

    private String memory() throws IOException {
        return fixture.server().command("GET", keys().lock()).toString().split(" ")[2];
    }

    /** What is left of the lease. */
    private long lifeMillis() throws IOException {
        return fixture.server().number("PTTL", keys().lock()) - Long.parseLong(memory());
    }
}
