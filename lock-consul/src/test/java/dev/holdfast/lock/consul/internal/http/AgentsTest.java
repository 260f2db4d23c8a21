package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.ScriptedConsul;
import dev.holdfast.lock.consul.internal.acquisition.ConsulLockBackend;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What an agent receives, which agent receives it, and when none does. */
final class AgentsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static Deadline soon() {
        return Deadline.in(PATIENCE.toMillis());
    }

    private static void until(Callable<Boolean> condition) {
        await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(condition);
    }

    private static String get(ConsulHttp http) throws Exception {
        return http.get("/v1/kv/a", soon()).get(1, TimeUnit.MINUTES).body();
    }

    @Test
    void request_hasItsMethod_pathBodyAndToken_andAsksForNoUpgrade() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        AtomicReference<String> got = new AtomicReference<>();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            got.set(body);
            return "200 x";
        })) {
            ConsulConnection plain = agent.connection();
            ConsulHttp http = new ConsulHttp(new ConsulConnection(
                    plain.client(), plain.agents(), () -> "!token~" + asked.incrementAndGet(), () -> {}));
            http.put("/v1/txn?consistent", "[\"u\"]", soon()).get(1, TimeUnit.MINUTES);
            assertThat(got).hasValue("[\"u\"]");
            assertThat(agent.heads().get(0))
                    .startsWith("PUT /v1/txn?consistent HTTP/1.1\n")
                    .contains("\nX-Consul-Token: !token~1\n")
                    .doesNotContainIgnoringCase("upgrade");
            http.blockingGet("/v1/kv/a?index=1", 60_000).get(1, TimeUnit.MINUTES);
            assertThat(agent.heads().get(1))
                    .startsWith("GET /v1/kv/a?index=1 HTTP/1.1\n")
                    .contains("\nX-Consul-Token: !token~2\n");
            assertThat(got).hasValue("");

            ConsulHttp without = new ConsulHttp(plain);
            get(without);
            assertThat(agent.heads().get(2)).doesNotContainIgnoringCase("X-Consul-Token");
        }
    }

    @Test
    void tokenThatIsNone_isNotSent_andNotRepeated() throws Exception {
        AtomicReference<String> token = new AtomicReference<>();
        try (FakeAgent agent = new FakeAgent((path, body) -> "200 x")) {
            ConsulConnection plain = agent.connection();
            ConsulHttp http =
                    new ConsulHttp(new ConsulConnection(plain.client(), plain.agents(), token::get, () -> {}));
            for (String bad : List.of("", "can ary", "canary\n", "canary\u007f", "canaryü")) {
                token.set(bad);
                assertThatThrownBy(() -> get(http))
                        .as("'%s'", bad)
                        .hasCauseInstanceOf(LockConfigurationException.class)
                        .rootCause()
                        .hasMessage("the ACL token is empty or has an invalid character;" + " correct its source");
            }
            assertThat(agent.requests()).isZero();
        }
    }

    /** Another agent would refuse the same request. */
    @Test
    void refusal_isNoReasonToAskAnotherAgent_aFaultIs_roundAndRound() throws Exception {
        AtomicReference<String> answer = new AtomicReference<>("200 first");
        try (FakeAgent first = new FakeAgent((path, body) -> answer.get());
                FakeAgent second = new FakeAgent((path, body) -> "500 second")) {
            ConsulHttp http = new ConsulHttp(first.connection(second.address()));
            for (String refusal : List.of("403 first", "404 first", "409 first", "429 first", "499 first")) {
                answer.set(refusal);
                assertThat(get(http)).as(refusal).isEqualTo("first");
            }
            answer.set("503 first");
            assertThat(get(http)).isEqualTo("first");
            assertThat(get(http)).isEqualTo("second");
            assertThat(get(http)).as("after the last one").isEqualTo("first");
        }
    }

    /** Many concurrent failures are one fault of one agent. */
    @Test
    void faultsAtOnce_skipOneAgent() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        try (FakeAgent first = new FakeAgent((path, body) -> {
                    both.countDown();
                    both.await();
                    return "500 first";
                });
                FakeAgent second = new FakeAgent((path, body) -> "200 second");
                FakeAgent third = new FakeAgent((path, body) -> "200 third")) {
            ConsulHttp http = new ConsulHttp(first.connection(second.address(), third.address()));
            CompletableFuture<Reply> one = http.get("/v1/kv/a", soon());
            CompletableFuture<Reply> two = http.get("/v1/kv/a", soon());
            CompletableFuture.allOf(one, two).get(1, TimeUnit.MINUTES);
            assertThat(get(http)).isEqualTo("second");
        }
    }

    /** 7 requests run at once, apart from blocking queries; an overdue request is never sent. */
    @Test
    void requests_areSoManyAtOnce_andNotSentWhenTheirTimeIsOver() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger queries = new AtomicInteger();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            if (path.contains("index")) {
                queries.incrementAndGet();
            } else {
                goOn.await();
            }
            return "200 x";
        })) {
            ConsulHttp http = new ConsulHttp(agent.connection());
            List<CompletableFuture<Reply>> under = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                under.add(http.get("/v1/kv/a", soon()));
            }
            CompletableFuture<Reply> late = http.get("/v1/kv/late", Deadline.in(-1));
            CompletableFuture<Reply> waits = http.get("/v1/kv/waits", soon());
            until(() -> agent.requests() == 7);
            http.blockingGet("/v1/kv/a?index=1", 60_000).get(1, TimeUnit.MINUTES);
            assertThat(queries).hasValue(1);
            assertThat(agent.heads()).noneMatch(head -> head.contains("waits"));

            goOn.countDown();
            assertThat(late)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withCauseInstanceOf(ConsulHttp.NotSentException.class)
                    .withMessageContaining("too many requests were in flight");
            assertThat(waits.get(1, TimeUnit.MINUTES).body()).isEqualTo("x");
            CompletableFuture.allOf(under.toArray(CompletableFuture<?>[]::new)).get(1, TimeUnit.MINUTES);
            assertThat(agent.heads()).noneMatch(head -> head.contains("late"));
        }
    }

    @Test
    void closed_sendsNothing_andEndsItsClientOnce() throws Exception {
        AtomicInteger closed = new AtomicInteger();
        CountDownLatch never = new CountDownLatch(1);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            never.await();
            return "200 x";
        })) {
            ConsulConnection plain = agent.connection();
            ConsulHttp http =
                    new ConsulHttp(new ConsulConnection(plain.client(), plain.agents(), null, closed::incrementAndGet));
            List<CompletableFuture<Reply>> under = new ArrayList<>();
            for (int i = 0; i < 8; i++) { // one of which waits
                under.add(http.get("/v1/kv/a", soon()));
            }
            until(() -> agent.requests() == 7);
            http.close();
            http.close();
            assertThat(closed).hasValue(1);
            under.add(http.get("/v1/kv/a", soon()));
            under.add(http.blockingGet("/v1/kv/a?index=1", 60_000));
            for (CompletableFuture<Reply> each : under) {
                assertThat(each).failsWithin(PATIENCE);
            }
            for (CompletableFuture<Reply> each : under.subList(7, 10)) {
                assertThat(each)
                        .failsWithin(PATIENCE)
                        .withThrowableThat()
                        .withCauseInstanceOf(LockUnavailableException.class)
                        .withMessageContaining("its client is closed");
            }
            assertThat(agent.requests()).isEqualTo(7);
        }
    }

    @Test
    void cancelledQuery_givesTheConnectionUp() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> "stall")) {
            ConsulHttp http = new ConsulHttp(agent.connection());
            CompletableFuture<Reply> query = http.blockingGet("/v1/kv/a?index=1", 600_000);
            until(() -> agent.requests() == 1);
            query.cancel(true);
            until(() -> agent.goneClients() == 1);
        }
    }

    /** Renewals and releases must not wait behind attempts. */
    @Test
    void renewalReleaseAndAbandonment_goBeforeAttempts() throws Exception {
        ScriptedConsul consul = new ScriptedConsul();
        Semaphore answers = new Semaphore(0);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    String answer = consul.to(path, body);
                    if (body.contains("test/many")) {
                        answers.acquire();
                    }
                    return answer;
                });
                ConsulLockBackend backend =
                        new ConsulLockBackend(agent.connection(), ConsulFixture.KEYS, Duration.ofSeconds(1), null)) {
            Grant renewed = BackendDriver.acquire(backend, "a");
            Grant released = BackendDriver.acquire(backend, "b");
            BackendDriver held = BackendDriver.of(backend, "d");
            held.acquire();
            BackendDriver abandoned = BackendDriver.of(backend, "c");
            consul.instead("attempt", "500 rpc error");
            assertThatThrownBy(abandoned::acquire).isInstanceOf(LockUnavailableException.class);
            consul.asked();
            for (int i = 0; i < 7; i++) {
                BackendDriver.of(backend, "many" + i).send(0, PATIENCE.toMillis());
            }
            until(() -> consul.size() == 7);
            consul.asked();
            CompletableFuture<?> late = BackendDriver.of(backend, "many")
                    .send(0, PATIENCE.toMillis())
                    .toCompletableFuture();
            List<CompletableFuture<?>> first = List.of(
                    backend.renew(List.of(renewed), PATIENCE.toMillis()).toCompletableFuture(),
                    backend.release(released, PATIENCE.toMillis()).toCompletableFuture(),
                    backend.abandon(held.acquisition(), PATIENCE.toMillis()).toCompletableFuture(),
                    backend.abandon(abandoned.acquisition(), PATIENCE.toMillis())
                            .toCompletableFuture());
            first.get(0).get(1, TimeUnit.MINUTES); // without a free place
            answers.release(); // one of the 7
            until(() -> consul.has("attempt"));
            assertThat(consul.kinds())
                    .filteredOn(kind -> !kind.equals("read")) // behind the new epoch
                    .containsExactly("renew", "check", "delete", "delete", "epoch", "attempt");
            answers.release(100);
            late.get(1, TimeUnit.MINUTES);
            for (CompletableFuture<?> each : first) {
                each.get(1, TimeUnit.MINUTES);
            }
        }
    }

    /**
     * The answer to an attempt may be in flight when another attempt gets the answer that the session does not exist.
     */
    @Test
    void grant_onASessionThatHasEndedMeanwhile_isNone() throws Exception {
        ScriptedConsul consul = new ScriptedConsul();
        CountDownLatch goOn = new CountDownLatch(1);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    String answer = consul.to(path, body);
                    if (body.contains("test/slow")) {
                        goOn.await();
                    }
                    return answer;
                });
                ConsulLockBackend backend =
                        new ConsulLockBackend(agent.connection(), ConsulFixture.KEYS, Duration.ofSeconds(1), null)) {
            BackendDriver.acquire(backend, "first");
            CompletableFuture<AcquireResult> slow = BackendDriver.of(backend, "slow")
                    .send(0, PATIENCE.toMillis())
                    .toCompletableFuture();
            until(() -> consul.size() == 3);
            consul.instead("attempt", ScriptedConsul.refused(2, "invalid session \"s-1\""));
            BackendDriver.acquire(backend, "second");
            goOn.countDown();
            assertThat(slow)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withCauseInstanceOf(LockUnavailableException.class)
                    .withMessageContaining("its session could not be renewed in time; try again");
        }
    }
}
