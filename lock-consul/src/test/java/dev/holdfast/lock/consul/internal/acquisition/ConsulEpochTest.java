package dev.holdfast.lock.consul.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.consul.internal.session.ConsulSession;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Epochs and sessions, with an agent whose answers a test controls. */
final class ConsulEpochTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String SESSION = "5e551011-0000-4000-8000-000000000001";
    private static final String EPOCH_KEY = "test/~" + SESSION;
    private static final Pattern CHECKED = Pattern.compile("check-index\",\"Key\":\"test/~[^\"]*\",\"Index\":(\\d+)");
    private static final Pattern LOCKED = Pattern.compile("\"lock\",\"Key\":\"([^\"]*)\"");

    private final AtomicLong index = new AtomicLong(100);
    private final AtomicLong epoch = new AtomicLong();
    private final AtomicInteger epochWrites = new AtomicInteger();
    private volatile boolean renewIsNotFound;
    private volatile String checkRefusal = "";
    private volatile String read = refused("key \"test/a\" doesn't exist");
    /** The answer to attempts, if it is another than Consul would give. */
    private volatile String attemptAnswer = "";

    private final AtomicInteger reads = new AtomicInteger();
    private final AtomicInteger deletions = new AtomicInteger();

    private static String refused(String what) {
        return "409 {\"Errors\":[{\"OpIndex\":0,\"What\":\"" + what.replace("\"", "\\\"") + "\"}]}";
    }

    private static String entry(String key, long at) {
        return "200 {\"Results\":[{\"KV\":{\"Key\":\"" + key + "\",\"CreateIndex\":" + at + ",\"ModifyIndex\":" + at
                + "}}]}";
    }

    /** Behaves like Consul, for one session. */
    private String answer(String path, String body) {
        if (path.startsWith("/v1/session/create")) {
            return "200 {\"ID\":\"" + SESSION + "\"}";
        }
        if (path.startsWith("/v1/session/renew")) {
            return renewIsNotFound ? "404 Session id '" + SESSION + "' not found" : "200 []";
        }
        if (!path.startsWith("/v1/txn")) {
            return "200 true";
        }
        if (body.contains("\"get\"")) {
            reads.incrementAndGet();
            return read;
        }
        if (body.contains("delete-cas")) {
            deletions.incrementAndGet();
            return "200 {\"Results\":[]}";
        }
        Matcher locked = LOCKED.matcher(body);
        if (!locked.find()) {
            return checkRefusal.isEmpty() ? "200 {\"Results\":[]}" : refused(checkRefusal);
        }
        if (locked.group(1).equals(EPOCH_KEY)) {
            epochWrites.incrementAndGet();
            epoch.set(index.incrementAndGet());
            return entry(EPOCH_KEY, epoch.get());
        }
        if (!attemptAnswer.isEmpty()) {
            return attemptAnswer;
        }
        Matcher checked = CHECKED.matcher(body);
        long known = checked.find() ? Long.parseLong(checked.group(1)) : 0;
        return known == epoch.get()
                ? entry(locked.group(1), index.incrementAndGet())
                : refused("key \"" + EPOCH_KEY + "\" exists");
    }

    private static ConsulLockBackend backend(FakeAgent agent) {
        return new ConsulLockBackend(agent.connection(), ConsulFixture.KEYS, Duration.ofSeconds(1), null);
    }

    /**
     * Each new epoch refuses the attempts in flight: if each refusal started one, concurrent attempts would never end.
     */
    @Test
    void refusedByAnOldEpoch_whileTheNewOneIsKnown_makesNoFurther() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger slow = new AtomicInteger();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    String answer = answer(path, body);
                    if (body.contains("test/slow") && slow.getAndIncrement() == 0) {
                        released.await();
                    }
                    return answer;
                });
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver.acquire(backend, "first", 60_000);
            epoch.set(index.incrementAndGet()); // another one, whose reply was lost
            BackendDriver late = BackendDriver.of(backend, "slow", 60_000);
            CompletableFuture<AcquireResult> attempt = late.send(0).toCompletableFuture();
            await().atMost(PATIENCE).until(() -> slow.get() == 1);
            BackendDriver.acquire(backend, "quick", 60_000);
            assertThat(epochWrites).hasValue(1);
            released.countDown();

            assertThat(attempt.get(1, TimeUnit.MINUTES)).isInstanceOf(AcquireResult.Granted.class);
            assertThat(epochWrites).as("epochs made by two refusals").hasValue(1);
        }
    }

    /**
     * Consul may have started to count when the request arrived, so the time of the answer does not extend the session.
     */
    @Test
    void session_isCountedFromWhenItsRequestsWereSent() throws Exception {
        AtomicLong answeredNanos = new AtomicLong();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            long cameNanos = System.nanoTime();
            while (System.nanoTime() - cameNanos < TimeUnit.MILLISECONDS.toNanos(20)) {
                LockSupport.parkNanos(1_000_000);
            }
            answeredNanos.set(System.nanoTime());
            return answer(path, body);
        })) {
            SessionPool sessions = new SessionPool(new ConsulHttp(agent.connection()), ConsulFixture.KEYS, null);
            ConsulSession session = sessions.usable(
                            60_000, Identity.ofThisProcess("a test"), Deadline.in(PATIENCE.toMillis()))
                    .get(1, TimeUnit.MINUTES);
            assertThat(session.leftMillis(answeredNanos.get())).as("made").isLessThanOrEqualTo(60_000 - 20);

            assertThat(sessions.renew(session, Deadline.in(PATIENCE.toMillis())).get(1, TimeUnit.MINUTES))
                    .isTrue();
            assertThat(session.leftMillis(answeredNanos.get())).as("renewed").isLessThanOrEqualTo(60_000 - 20);
        }
    }

    /** The previous epoch refuses what was sent before it, and nothing that was sent since. */
    @Test
    void newEpoch_afterAnotherHasBeenMade_isOneMore() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer)) {
            SessionPool sessions = new SessionPool(new ConsulHttp(agent.connection()), ConsulFixture.KEYS, null);
            Deadline deadline = Deadline.in(PATIENCE.toMillis());
            ConsulSession session = sessions.usable(60_000, Identity.ofThisProcess("a test"), deadline)
                    .get(1, TimeUnit.MINUTES);
            for (int i = 1; i <= 2; i++) {
                assertThat(sessions.newEpoch(session, deadline).get(1, TimeUnit.MINUTES))
                        .isTrue();
                assertThat(epochWrites).hasValue(i);
                assertThat(session.epoch()).isEqualTo(epoch.get());
            }
        }
    }

    @Test
    void renewal_notFound_thoughTheKeyIsIntact_isUnknown() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            Grant grant = BackendDriver.acquire(backend, "a", 60_000);
            renewIsNotFound = true;
            assertThat(BackendDriver.renew(backend, grant)).isInstanceOf(RenewResult.Unknown.class);
            renewIsNotFound = false;
            assertThat(BackendDriver.renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            renewIsNotFound = true;
            checkRefusal = "failed to check index, key \"test/a\" doesn't exist";
            assertThat(BackendDriver.renew(backend, grant))
                    .isInstanceOfSatisfying(
                            RenewResult.Lost.class,
                            lost -> assertThat(lost.reason()).isEqualTo(LossReason.SESSION_LOST));
        }
    }

    /** A refused transaction may contain any message: only known ones mean a loss. */
    @Test
    void renewal_refusedForAnUnknownReason_isUnknown() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            Grant grant = BackendDriver.acquire(backend, "a", 60_000);
            for (String what : new String[] {"Permission denied", "ACL not found", "disk full"}) {
                checkRefusal = what;
                assertThat(BackendDriver.renew(backend, grant)).as(what).isInstanceOf(RenewResult.Unknown.class);
            }
            checkRefusal = "failed index check for key \"test/a\", current modify index 14 != 3";
            assertThat(BackendDriver.renew(backend, grant)).isInstanceOf(RenewResult.Lost.class);
        }
    }

    /** Two answers may arrive in any order; an abandoned acquisition is not recorded again. */
    @Test
    void grant_thatIsToldAfterItsAbandonmentIsOver_isForgotten() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger slow = new AtomicInteger();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    String answer = answer(path, body);
                    if (body.contains("test/slow") && slow.getAndIncrement() == 0) {
                        released.await();
                    }
                    return answer;
                });
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver.acquire(backend, "first", 60_000);
            BackendDriver late = BackendDriver.of(backend, "slow", 60_000);
            CompletableFuture<AcquireResult> attempt = late.send(0).toCompletableFuture();
            await().atMost(PATIENCE).until(() -> slow.get() == 1);
            late.abandon();
            assertThat(epochWrites).hasValue(1);
            released.countDown();

            assertThat(attempt.get(1, TimeUnit.MINUTES)).isInstanceOf(AcquireResult.Busy.class);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(backend.acquisitions().size())
                            .as("remembered acquisitions")
                            .isEqualTo(1));
        }
    }

    /** Renewals keep the session and the key alive, so they also retry the removal. */
    @Test
    void keyChangedByHand_whoseRemovalFails_isRemovedAtTheNextRenewal() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            Grant alive = BackendDriver.acquire(backend, "alive", 60_000);
            Grant changed = BackendDriver.acquire(backend, "a", 60_000);
            checkRefusal = "failed index check for key \"test/a\", current modify index 999 != " + changed.token();
            read = "500 rpc error";
            assertThat(BackendDriver.renew(backend, changed)).isInstanceOf(RenewResult.Lost.class);
            await().atMost(PATIENCE).until(() -> reads.get() == 1);
            assertThat(deletions).hasValue(0);

            checkRefusal = "";
            read = "200 {\"Results\":[{\"KV\":{\"Key\":\"test/a\",\"CreateIndex\":" + changed.token()
                    + ",\"ModifyIndex\":999,\"Session\":\"" + SESSION + "\",\"Value\":\"aGFuZA==\"}}]}";
            await().atMost(PATIENCE).until(() -> {
                assertThat(BackendDriver.renew(backend, alive)).isInstanceOf(RenewResult.Renewed.class);
                return deletions.get() > 0;
            });
            await().atMost(PATIENCE).until(() -> backend.acquisitions().size() == 1);
            int before = reads.get();
            BackendDriver.renew(backend, alive);
            assertThat(reads).as("looks at the removed key").hasValue(before);
        }
    }

    /** The session is not renewed while more than three quarters of it are left. */
    @Test
    void grant_onAnOlderSession_isForWhatIsLeftOfThat() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver.acquire(backend, "first", 60_000);
            long madeNanos = System.nanoTime();
            while (System.nanoTime() - madeNanos < TimeUnit.MILLISECONDS.toNanos(20)) {
                LockSupport.parkNanos(1_000_000);
            }
            assertThat(BackendDriver.acquire(backend, "a", 60_000).leaseMillis())
                    .isBetween(1L, 60_000L - 20);
        }
    }

    /** What a read of the key of {@code a} brings if that is of an acquisition. */
    private static String held(BackendDriver driver, long at, String session) {
        String value = ConsulValue.of(driver.acquisition().owner(), BackendDriver.IDENTITY)
                .base64();
        return "200 {\"Results\":[{\"KV\":{\"Key\":\"test/a\",\"CreateIndex\":" + at + ",\"ModifyIndex\":" + at
                + ",\"Session\":\"" + session + "\",\"Value\":\"" + value + "\"}}]}";
    }

    /** Consul reported the end of the session: nothing has to be removed or recorded. */
    @Test
    void abandon_behindAnAttemptThatWasRefusedWithAnError_asksForNothing() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver driver = BackendDriver.of(backend, "a", 60_000);
            attemptAnswer = "403 Permission denied";
            assertThat(driver.send(0).toCompletableFuture())
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class);
            int before = agent.requests();

            driver.abandon();

            assertThat(agent.requests()).isEqualTo(before);
            await().atMost(PATIENCE).until(() -> backend.acquisitions().size() == 0);
        }
    }

    /** The attempt whose reply was lost may still be in flight: it must not acquire the lock after the release. */
    @Test
    void release_behindAnAttemptWithoutAReply_makesANewEpochFirst() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver driver = BackendDriver.of(backend, "a", 60_000);
            attemptAnswer = "500 rpc error";
            assertThat(driver.send(0).toCompletableFuture())
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class);
            attemptAnswer = "";
            Grant grant = driver.acquire();
            assertThat(epochWrites).hasValue(0);
            read = held(driver, grant.token(), SESSION);

            assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(epochWrites).hasValue(1);
            assertThat(deletions).hasValue(1);
        }
    }

    /** An attempt that is repeated finds the key that an earlier one has made. */
    private AcquireResult repeated(BackendDriver driver, String session) throws Exception {
        Grant grant = driver.acquire();
        attemptAnswer = "409 {\"Errors\":[{\"OpIndex\":1,\"What\":\"key \\\"test/a\\\" exists\"}]}";
        read = held(driver, grant.token(), session);
        return driver.send(0).toCompletableFuture().get(1, TimeUnit.MINUTES);
    }

    @Test
    void ownKey_isTheGrant_ifItsSessionIsThere() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            assertThat(repeated(BackendDriver.of(backend, "a", 60_000), SESSION))
                    .isInstanceOf(AcquireResult.Granted.class);
            assertThat(deletions).hasValue(0);
        }
    }

    @Test
    void ownKey_isNoGrant_ifConsulDoesNotFindItsSession() throws Exception {
        renewIsNotFound = true;
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            BackendDriver driver = BackendDriver.of(backend, "a", 60_000);
            assertThatThrownBy(() -> repeated(driver, SESSION)).hasCauseInstanceOf(LockUnavailableException.class);
        }
    }

    /** The key would block its own acquisition until that session ends. */
    @Test
    void ownKey_onASessionThatIsNotKnownAnyMore_isRemoved() throws Exception {
        try (FakeAgent agent = new FakeAgent(this::answer);
                ConsulLockBackend backend = backend(agent)) {
            String other = SESSION.replace('1', '2');
            assertThat(repeated(BackendDriver.of(backend, "a", 60_000), other)).isInstanceOf(AcquireResult.Busy.class);
            assertThat(deletions).hasValue(1);
        }
    }
}
