package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.redis.Attempts.busy;
import static dev.holdfast.lock.redis.Attempts.grant;
import static dev.holdfast.lock.redis.Attempts.tryAcquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.Permissions;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.TwoBackends;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import io.lettuce.core.RedisClient;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.hamcrest.Matchers;
import org.junit.jupiter.api.Test;

/** Waiters without calls, entries that are not theirs, and whose order counts. */
final class RedisCallsOfWaitersTest extends TwoBackends {
    private static final String DEAF = "deaf";

    @Test
    void goneWaiters_arePassedOverByTheReleaseItself() throws Exception {
        Grant held = grant(a, acquisition());
        List<LockBackend> gone = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            LockBackend backend = fixture.newBackend();
            gone.add(backend);
            queueSubscribed(backend, acquisition(), i + 1);
        }
        AcquisitionId living = acquisition();
        Ticket ticket = queueSubscribed(b, living, 6);
        gone.forEach(LockBackend::close);
        awaitSubscribed(1);
        CompletableFuture<Boolean> called = new CompletableFuture<>();
        try (var x = b.subscribe(ticket, () -> called.complete(true))) {
            release(a, held);
            called.get(60, TimeUnit.SECONDS);
        }
        // The release has called it, and no entry is before it any more.
        assertThat(fixture.server().number("ZCARD", keys().queue())).isEqualTo(1);
        assertThat(fixture.server()
                        .number("ZRANK", keys().queue(), living.owner().toString()))
                .isZero();
        release(b, ((AcquireResult.Granted) tryAcquire(b, living, 60_000, true, ticket)).grant());
        assertThat(fixture.entries(name)).isZero();
    }

    @Test
    void goneWaiter_isPassedOverByAnAttemptToo() throws Exception {
        grant(a, acquisition());
        try (LockBackend gone = fixture.newBackend()) {
            queueSubscribed(gone, acquisition(), 1);
        }
        awaitSubscribed(0);
        fixture.server().command("PEXPIRE", keys().lock(), "1"); // the holder's lease ends, and nothing is released
        await().atMost(PATIENCE).until(() -> fixture.server().number("EXISTS", keys().lock()) == 0);
        AcquisitionId next = acquisition();
        assertThat(tryAcquire(b, next, 60_000, true, null)).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void clientThatMustNotSubscribe_polls_doesNotQueue_andQueuesOnceItMay() throws Exception {
        List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", DEAF, "on", "nopass"));
        words.addAll(Permissions.documented());
        words.add("-subscribe");
        fixture.server().command(words.toArray(String[]::new));
        String uri = "redis://" + DEAF + ":x@" + fixture.server().host() + ":"
                + fixture.server().port();
        try (LockBackend deaf = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect(uri, Duration.ofSeconds(20))))) {
            Grant held = grant(a, acquisition());
            AcquisitionId mine = acquisition();
            // The first attempt has not seen it yet; then it is notified, and leaves the queue.
            Ticket[] ticket = {busy(deaf, mine, 60_000, true, null).ticket()};
            await().atMost(PATIENCE).until(() -> {
                ticket[0] = busy(deaf, mine, 60_000, true, ticket[0]).ticket();
                return ticket[0] == null && fixture.entries(name) == 1;
            });
            release(a, held);
            Grant again = grant(a, acquisition());
            fixture.server().command("ACL", "SETUSER", DEAF, "+subscribe");
            await().atMost(PATIENCE).until(() -> {
                ticket[0] = busy(deaf, mine, 60_000, true, ticket[0]).ticket();
                return ticket[0] != null
                        && fixture.list("PUBSUB", "CHANNELS", "holdfast:c:*").size() == 1;
            });
            release(a, again);
            answer(deaf.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
        } finally {
            fixture.server().command("ACL", "DELUSER", DEAF);
        }
    }

    @Test
    void clientThatMustNotPublish_releasesAllTheSame() throws Exception {
        List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "mute", "on", "nopass"));
        words.addAll(Permissions.documented());
        words.add("-publish");
        fixture.server().command(words.toArray(String[]::new));
        String uri = "redis://mute:x@" + fixture.server().host() + ":"
                + fixture.server().port();
        try (LockBackend mute = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect(uri, Duration.ofSeconds(20))))) {
            Grant held = grant(mute, acquisition());
            AcquisitionId waiting = acquisition();
            Ticket ticket = queueSubscribed(b, waiting, 1);

            assertThat(release(mute, held)).isEqualTo(ReleaseResult.RELEASED);
            AcquireResult result = tryAcquire(b, waiting, 60_000, true, ticket);
            assertThat(result).isInstanceOf(AcquireResult.Granted.class);
            release(b, ((AcquireResult.Granted) result).grant());
        }
    }

    @Test
    void fullMemory_whatIsHeldIsRenewedAndReleased() throws Exception {
        Grant held = grant(a, acquisition());
        queueSubscribed(b, acquisition(), 1);
        fixture.server().command("CONFIG", "SET", "maxmemory-policy", "noeviction");
        fixture.server().command("CONFIG", "SET", "maxmemory", "1");
        try {
            assertThat(renew(a, List.of(held))).first().isInstanceOf(RenewResult.Renewed.class);
            assertThat(release(a, held)).isEqualTo(ReleaseResult.RELEASED);
        } finally {
            fixture.server().command("CONFIG", "SET", "maxmemory", "0");
        }
    }

    @Test
    void refusedAttempts_leaveNothingInThisProcess() throws Exception {
        fixture.server().command("LPUSH", keys().lock(), "not ours");
        RedisLockBackend backend = (RedisLockBackend) a;
        for (int i = 0; i < 20; i++) {
            CompletableFuture<AcquireResult> refused = a.tryAcquire(new AcquireRequest(
                            acquisition(),
                            Attempts.LEASE_MILLIS,
                            60_000,
                            false,
                            null,
                            BackendDriver.TIMEOUT_MILLIS,
                            BackendDriver.IDENTITY))
                    .toCompletableFuture();
            assertThat(refused).failsWithin(Duration.ofSeconds(60)).withThrowableOfType(ExecutionException.class);
        }
        assertThat(backend.waiting()).isZero();
        fixture.server().command("DEL", keys().lock());
    }

    /** The Redis client subscribes again after a reconnect by itself, and reports no refusal of that. */
    @Test
    void subscriptionRefusedAfterAReconnect_isMadeAnewOnceItMay() throws Exception {
        List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "fickle", "on", "nopass"));
        words.addAll(Permissions.documented());
        fixture.server().command(words.toArray(String[]::new));
        String uri = "redis://fickle:x@" + fixture.server().host() + ":"
                + fixture.server().port();
        try (LockBackend fickle = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect(uri, Duration.ofSeconds(20))))) {
            Grant held = grant(a, acquisition());
            AcquisitionId mine = acquisition();
            Ticket[] ticket = {queueSubscribed(fickle, mine, 1)};
            fixture.server().command("ACL", "LOG", "RESET");
            fixture.server().command("ACL", "SETUSER", "fickle", "resetchannels"); // ends the subscribed connection
            await().atMost(PATIENCE)
                    .until(() -> String.valueOf(fixture.server().command("ACL", "LOG"))
                            .contains("holdfast:c:"));
            fixture.server().command("ACL", "SETUSER", "fickle", "&holdfast:c:*");
            await().atMost(PATIENCE).until(() -> {
                ticket[0] = busy(fickle, mine, 60_000, true, ticket[0]).ticket();
                return ticket[0] != null && entry(mine).contains(" P ");
            });
            awaitSubscribed(1);
            answer(fickle.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
            release(a, held);
        } finally {
            fixture.server().command("ACL", "DELUSER", "fickle");
        }
    }

    /** For the server the connection is open, and counts as a receiver. */
    @Test
    void connectionThatBringsNothing_isReplaced() throws Exception {
        String server = fixture.server().host() + ":" + fixture.server().port();
        RedisClient direct = RedisClient.create("redis://" + server);
        try (FaultProxy proxy = FaultProxy.to(fixture.server().process())) {
            RedisClient proxied = RedisClient.create("redis://" + proxy.host() + ":" + proxy.port());
            AtomicInteger subscriptions = new AtomicInteger();
            ConnectionFactory factory = new ConnectionFactory() {
                @Override
                public boolean cluster() {
                    return false;
                }

                @Override
                public Link connect() {
                    return ConnectionFactory.of(direct).connect();
                }

                @Override
                public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                    return ConnectionFactory.of(subscriptions.getAndIncrement() == 0 ? proxied : direct)
                            .connectPubSub();
                }
            };
            try (LockBackend deaf = RedisInternals.backend(RedisInternals.builder(factory))) {
                AcquisitionId first = acquisition();
                Grant holding = grant(a, acquisition());
                queueSubscribed(deaf, first, 1);
                answer(deaf.abandon(first, BackendDriver.TIMEOUT_MILLIS));
                release(a, holding);
                proxy.blackHole(Direction.TO_CLIENT);
                for (int i = 0; i < 3; i++) {
                    assertThat(subscriptions).as("before call %d is missed", i).hasValue(1);
                    missCall(deaf);
                }
                await().atMost(PATIENCE).untilAtomic(subscriptions, Matchers.equalTo(2));
                Grant held = grant(a, acquisition());
                AcquisitionId mine = acquisition();
                Ticket[] present = {busy(deaf, mine, 60_000, true, null).ticket()};
                await().atMost(PATIENCE).until(() -> {
                    present[0] = busy(deaf, mine, 60_000, true, present[0]).ticket();
                    return present[0] != null && entry(mine).contains(" P ");
                });
                CountDownLatch called = new CountDownLatch(1);
                try (var x = deaf.subscribe(present[0], called::countDown)) {
                    release(a, held);
                    assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
                }
                answer(deaf.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
            } finally {
                proxied.shutdown(Duration.ZERO, Duration.ofSeconds(2));
                direct.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
        }
    }

    /** The server has dropped the subscription, the client has not noticed: so the call has no receiver, and the waiter's place ends. */
    @Test
    void waiterWhosePlaceHasEnded_sinceNobodyHeardItsCall_learnsThatItWasCalled() throws Exception {
        AtomicInteger missed = new AtomicInteger();
        RedisSignals nobodyListens = new RedisSignals() {
            @Override
            public boolean queues() {
                return true;
            }

            @Override
            public String mode(RedisKeys keys) {
                return "P";
            }

            @Override
            public String inbox() {
                return "a1";
            }

            @Override
            public void wanted(String owner, RedisKeys keys) {}

            @Override
            public void unwanted(String owner) {}

            @Override
            public void missed() {
                missed.incrementAndGet();
            }

            @Override
            public void close() {}
        };
        RedisClient client = RedisClient.create(
                "redis://" + fixture.server().host() + ":" + fixture.server().port());
        ConnectionFactory factory = new ConnectionFactory() {
            @Override
            public boolean cluster() {
                return false;
            }

            @Override
            public Link connect() {
                return ConnectionFactory.of(client).connect();
            }

            @Override
            public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
                return nobodyListens;
            }

            @Override
            public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                throw new UnsupportedOperationException();
            }
        };
        try (LockBackend deaf = RedisInternals.backend(RedisInternals.builder(factory))) {
            Grant held = grant(a, acquisition());
            AcquisitionId mine = acquisition();
            Ticket ticket = busy(deaf, mine, 60_000, true, null).ticket();
            release(a, held);
            Grant next = grant(a, acquisition());
            assertThat(missed).hasValue(0);

            busy(deaf, mine, 60_000, true, ticket);

            assertThat(missed).hasValue(1);
            answer(deaf.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
            release(a, next);
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    /** Waits as a waiter that can be called; comes by itself after the release, without having listened. */
    private void missCall(LockBackend deaf) throws Exception {
        Grant held = grant(a, acquisition());
        AcquisitionId mine = acquisition();
        Ticket ticket = queueSubscribed(deaf, mine, 1);
        release(a, held);
        release(deaf, ((AcquireResult.Granted) tryAcquire(deaf, mine, 60_000, true, ticket)).grant());
    }

    @Test
    void plantedEntries_neverSpeakOnOtherChannels_norOtherWords() throws Exception {
        List<String> heard = new ArrayList<>();
        RedisClient client = RedisClient.create(
                "redis://" + fixture.server().host() + ":" + fixture.server().port());
        try (var listener = client.connectPubSub()) {
            CompletableFuture<Void> end = new CompletableFuture<>();
            listener.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String pattern, String channel, String message) {
                    if (channel.equals("end")) {
                        end.complete(null);
                    } else {
                        heard.add(channel + " " + message);
                    }
                }
            });
            listener.sync().psubscribe("*");
            Grant held = grant(a, acquisition());
            String far = "9999999999999 ";
            String[] members = {"payload", "1".repeat(32), "2".repeat(32), "3".repeat(32), "4".repeat(32)};
            String[] entries = {
                "P " + "a".repeat(32), "PUBLISH victim", "P victim", "S victim:c:aa", "DEL " + "a".repeat(32)
            };
            busy(b, acquisition(), 60_000, true, null); // so that the lock has waiters
            for (int i = 0; i < members.length; i++) {
                fixture.server().command("ZADD", keys().queue(), Integer.toString(i + 1), members[i]);
                fixture.server().command("HSET", keys().waiters(), members[i], far + entries[i]);
            }
            release(a, held);
            fixture.server().command("PUBLISH", "end", "");
            end.get(60, TimeUnit.SECONDS);
            assertThat(heard).allMatch(each -> each.matches("holdfast:c:[0-9a-f]{32} [0-9a-f]{32}"));
            for (String member : members) {
                assertThat(fixture.server().command("ZSCORE", keys().queue(), member))
                        .isNull();
            }
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    @Test
    void queueIsFull_nothingIsKeptOfThoseWhoDoNotGetIn() throws Exception {
        Grant held = grant(a, acquisition());
        for (int i = 0; i < 1_000; i++) {
            fixture.server().command("ZADD", keys().queue(), Integer.toString(i + 1), "%032x".formatted(i));
        }
        for (int i = 0; i < 10; i++) {
            assertThat(busy(b, acquisition(), 60_000, true, null).ticket()).isNull();
        }
        assertThat(((RedisLockBackend) b).waiting()).isZero();
        fixture.server().command("DEL", keys().queue());
        release(a, held);
    }

    @Test
    void fairWaiter_isNotPassedByThoseWhoAreNotFair() throws Exception {
        withoutPause(Duration.ofMillis(500), 10, this::fairWaiterGoesFirst);
    }

    private void fairWaiterGoesFirst() throws Exception {
        Grant held = grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        Ticket ticket = queueSubscribed(a, waiting, 1);
        release(a, held);
        assertThat(tryAcquire(b, acquisition(), 0, false, null)).isInstanceOf(AcquireResult.Busy.class);
        assertThat(tryAcquire(b, acquisition(), 60_000, false, null)).isInstanceOf(AcquireResult.Busy.class);
        release(a, ((AcquireResult.Granted) tryAcquire(a, waiting, 60_000, true, ticket)).grant());
    }

    /** Queues, waits for the subscription, and queues again, as a waiter that can be called. */
    private Ticket queueSubscribed(LockBackend backend, AcquisitionId waiting, int processes) throws Exception {
        Ticket ticket = busy(backend, waiting, 60_000, true, null).ticket();
        awaitSubscribed(processes);
        await().atMost(PATIENCE).until(() -> {
            busy(backend, waiting, 60_000, true, ticket);
            return entry(waiting).contains(" P ");
        });
        return ticket;
    }

    private String entry(AcquisitionId waiting) throws IOException {
        return String.valueOf(fixture.server()
                .command("HGET", keys().waiters(), waiting.owner().toString()));
    }

    private void awaitSubscribed(int processes) {
        await().atMost(PATIENCE)
                .until(() -> fixture.list("PUBSUB", "CHANNELS", "holdfast:c:*").size() == processes);
    }
}
