package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client's log: warnings about dangerous options, dropped leases, and a close with open locks. */
@Timeout(60)
class ClientWarningsTest {
    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Failing::new);
    private final Failing backend = (Failing) virtual.backend;
    private final EngineClient client = virtual.client;

    /** Its connection may have been closed before the client, and its close may fail. */
    private static final class Failing extends OutageBackend {
        boolean failsToClose;

        Failing(LongSupplier clock) {
            super(false, false, clock);
        }

        @Override
        public void close() {
            if (failsToClose) {
                throw new IllegalStateException("on purpose");
            }
        }
    }

    private static LockException closed() {
        return new LockClosedException("the connection is closed");
    }

    private static int count(String log, String text) {
        return log.split(Pattern.quote(text), -1).length - 1;
    }

    private static LockOptions lease(long millis) {
        return LockOptions.builder().lease(Duration.ofMillis(millis)).build();
    }

    // ---- options

    @ParameterizedTest
    @CsvSource({"3001, 0", "3000, 0", "2999, 1"})
    void requestTimeoutLongerThanALease_isWarnedOf_once(long leaseMillis, int warnings) {
        String first = LogText.of(() -> client.lock("n", lease(leaseMillis)));
        assertThat(count(first, "requestTimeout (3000 ms) is longer than a lease (" + leaseMillis + " ms)"))
                .isEqualTo(warnings);
        assertThat(LogText.of(() -> client.lock("other", lease(leaseMillis)))).isEmpty();
    }

    @Test
    void lockAll_withoutOptions_isRefused_orHasThoseOfTheClient() {
        assertThatNullPointerException()
                .isThrownBy(() -> client.lockAll(List.of("n"), null))
                .withMessage("options must not be null");
        assertThat(client.lockAll("b", "a").names()).containsExactly("a", "b");
        assertThat(client.lockAll(List.of("b", "a"), lease(5_000)).names()).containsExactly("a", "b");
    }

    // ---- dropped leases

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void droppedLease_isFoundWhileTheClientGoesOn_andTold(boolean tracing) {
        Virtual its =
                new Virtual(LockClientOptions.builder().leakTracing(tracing).build());
        Hold hold = its.hold("n", LockOptions.defaults());
        LeakDetector.Trace trace = Objects.requireNonNull(hold.openLease);
        String log = LogText.of(() -> {
            its.pass(10 * Virtual.SECOND);
            assertThat(hold.state).as("it is open").isEqualTo(Hold.State.HELD);
            trace.enqueue();
            its.pass(10 * Virtual.SECOND); // the schedule of its renewals
        });
        assertThat(hold.state).isEqualTo(Hold.State.RELEASED);
        assertThat(its.backend.isHeld("n")).isFalse();
        assertThat(count(log, "lock 'n' (token " + hold.token + "): a lease was dropped"))
                .isEqualTo(1);
        assertThat(log.contains("and see LockClientOptions.leakTracing")).isEqualTo(!tracing);
        assertThat(log.contains("the lease was acquired here")).isEqualTo(tracing);
    }

    @Test
    void droppedLeases_areAllFoundAtOnce() {
        List<Hold> holds = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            holds.add(virtual.hold(name, lease(15_000)));
        }
        virtual.pass(3 * Virtual.SECOND);
        holds.forEach(hold -> Objects.requireNonNull(hold.openLease).enqueue());
        String log = LogText.of(() -> virtual.pass(5 * Virtual.SECOND / 2)); // the schedule of their renewals
        assertThat(holds).allMatch(hold -> hold.state == Hold.State.RELEASED);
        assertThat(count(log, "a lease was dropped")).isEqualTo(3);
    }

    // ---- the end

    private String logOfTheEnd() {
        return LogText.of(() ->
                client.endClose(Objects.requireNonNull(client.beginClose()).isDone()));
    }

    @Test
    void close_inOrder_saysNothing() {
        virtual.hold("n", LockOptions.defaults());
        assertThat(logOfTheEnd()).isEmpty();
        assertThat(backend.isHeld("n")).isFalse();
    }

    @Test
    void close_beforeTheStoreHasAnswered_isTold_andWhatIsOutEndsInOneEvent() {
        List<String> reported = new ArrayList<>();
        client.addListener(new LockListener() {
            @Override
            public void released(String name, long token, Duration held) {
                reported.add(name);
            }
        });
        Hold hold = virtual.hold("n", LockOptions.defaults());
        backend.silent = true;
        virtual.end(hold);
        virtual.pass(0);
        assertThat(reported).isEmpty();
        String log = logOfTheEnd();
        assertThat(count(log, "lock client of outage: closed before the store had answered all requests"))
                .isEqualTo(1);
        assertThat(log).doesNotContain("its connection was closed before it");
        assertThat(client.engine().requests().isIdle())
                .as("nothing is awaited any more")
                .isTrue();
        virtual.pass(0);
        assertThat(reported).containsExactly("n");
    }

    @Test
    void close_behindItsConnection_tellsHowManyLocksWereLeft_once() {
        virtual.hold("a", LockOptions.defaults());
        virtual.hold("b", LockOptions.defaults());
        backend.failure = ClientWarningsTest::closed;
        String log = logOfTheEnd();
        assertThat(count(log, "its connection was closed before it, so 2 locks could not be released"))
                .isEqualTo(1);
        assertThat(log).doesNotContain("closed before the store had answered all requests");
        assertThat(client.engine().requests().isIdle()).isTrue();
    }

    @Test
    void close_ofABackendThatFailsToClose_isTold() {
        backend.failsToClose = true;
        assertThat(logOfTheEnd()).contains("lock client of outage: closing the backend failed", "on purpose");
    }

    @Test
    void close_endsTheRetries_andSumsUpTheWarnings() {
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            holds.add(virtual.hold("released" + i, LockOptions.defaults()));
        }
        for (int i = 0; i < 3; i++) {
            Hold lost = virtual.hold("lost" + i, LockOptions.defaults());
            client.entries().lost(lost.heldGrant.grant, LossReason.REVOKED, "on purpose");
        }
        backend.failure = OutageBackend::unreachable;
        holds.forEach(virtual::end);
        virtual.pass(Virtual.SECOND / 2);
        assertThat(client.status().pendingReleases()).isEqualTo(3);
        assertThat(client.engine().releaser().warnings().lines()).isEqualTo(1);
        assertThat(client.engine().losses().lines()).isEqualTo(1);
        int before = backend.removals;
        assertThat(before).as("they are retried").isGreaterThan(3);

        assertThat(logOfTheEnd()).contains("closed before the store had answered all requests");
        assertThat(client.engine().releaser().warnings().lines()).isEqualTo(2);
        assertThat(client.engine().losses().lines()).isEqualTo(2);
        assertThat(client.status().pendingReleases()).isZero();
        virtual.pass(60 * Virtual.SECOND);
        assertThat(backend.removals).isEqualTo(before);
    }

    // ---- idle

    @Test
    void client_isIdle_onceNothingIsContendedForOrUnderWay() {
        assertThat(client.isIdle()).isTrue();
        Hold hold = virtual.hold("n", LockOptions.defaults());
        assertThat(client.isIdle()).as("held").isFalse();
        backend.failure = OutageBackend::unreachable;
        virtual.end(hold);
        assertThat(client.isIdle()).as("not removed").isFalse();
        backend.failure = null;
        virtual.pass(10 * Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    /** It waits for the store for up to the request time-out, by the machine's clock. */
    @ParameterizedTest
    @CsvSource({"true, 0", "false, 1"})
    void close_waitsForTheAnswers_andTellsWhatHadNone(boolean answers, int warnings) {
        InlineBackend inline = new InlineBackend(false);
        CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
        inline.releaseAnswer = answer;
        EngineClient its = InlineBackend.client(
                inline,
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofMillis(answers ? 10_000 : 30))
                        .build());
        its.lock("n").lock();
        long start = System.nanoTime();
        if (answers) {
            CompletableFuture.delayedExecutor(30, TimeUnit.MILLISECONDS)
                    .execute(() -> answer.complete(ReleaseResult.RELEASED));
        }
        String log = LogText.of(its::close);
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(30_000_000);
        assertThat(count(log, "closed before the store had answered all requests"))
                .isEqualTo(warnings);
        assertThat(its.engine().requests().isIdle()).isTrue();
    }
}
