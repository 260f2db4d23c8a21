package dev.holdfast.lock.consul.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.ScriptedConsul;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.spi.Subscription;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The rules of Consul's manual for blocking queries, with an agent whose answers a test controls. */
final class KeyWatchTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** {@code status index}, in their order; no answer when there is none. */
    private final LinkedBlockingQueue<String> answers = new LinkedBlockingQueue<>();

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final AtomicInteger calls = new AtomicInteger();
    private volatile boolean looksAreAnswered;
    private final List<String> looks = new CopyOnWriteArrayList<>();
    private volatile String lookAnswer = "200 {}";
    private FakeAgent agent;
    private KeyWatchRegistry watches;

    @BeforeEach
    void start() throws Exception {
        agent = new FakeAgent((path, body) -> {
            if (path.startsWith("/v1/txn")) {
                looks.add(body);
                return lookAnswer;
            }
            String query = path.contains("?") ? path.substring(path.indexOf('?') + 1) : "";
            asked.add(query);
            String answer = query.isEmpty() && looksAreAnswered ? "200 7" : answers.take();
            return answer.replace(' ', '@') + " ";
        });
        ConsulHttp http = new ConsulHttp(agent.connection());
        watches = new KeyWatchRegistry(
                http, new KeyLooks(new SessionPool(http, ConsulFixture.KEYS, null)), ConsulFixture.KEYS);
    }

    @AfterEach
    void stop() throws Exception {
        agent.close();
    }

    private void awaitAsked(String... queries) {
        await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .untilAsserted(() -> assertThat(asked).containsExactly(queries));
    }

    @Test
    void index_goesOn_isAskedFor() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("200 7");
        awaitAsked("", "index=7&wait=60s");
        answers.add("200 9");
        awaitAsked("", "index=7&wait=60s", "index=9&wait=60s");
        assertThat(calls).as("calls while the key is there").hasValue(0);
        answers.add("404 12");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
    }

    @Test
    void anotherWaiter_whenTheKeyIsKnownToBeAbsent_isCalledAtOnce() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("404 12");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
        AtomicInteger callsOfAnother = new AtomicInteger();
        watches.subscribe("a", callsOfAnother::incrementAndGet);
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(callsOfAnother).hasValue(1));
        assertThat(calls).as("of the first waiter, which was notified before").hasValue(1);
    }

    @Test
    void index_goesBackwards_beginsAnew() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("200 700");
        awaitAsked("", "index=700&wait=60s");
        answers.add("200 5"); // another cluster's data, or a snapshot
        awaitAsked("", "index=700&wait=60s", "");
        answers.add("200 5");
        awaitAsked("", "index=700&wait=60s", "", "index=5&wait=60s");
    }

    @Test
    void index_zero_isOne() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("200 0");
        awaitAsked("", "index=1&wait=60s");
    }

    @Test
    void failure_isFollowedByAFreshLook() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("200 7");
        awaitAsked("", "index=7&wait=60s");
        answers.add("500 7");
        awaitAsked("", "index=7&wait=60s", "");
        answers.add("404 8"); // it became free between two queries
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
    }

    @Test
    void waiters_ofOneName_haveOneQuery() {
        Subscription one = watches.subscribe("a", calls::incrementAndGet);
        Subscription two = watches.subscribe("a", calls::incrementAndGet);
        answers.add("200 7");
        awaitAsked("", "index=7&wait=60s");
        one.close();
        answers.add("404 8");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
        two.close();
        two.close();
        assertThat(watches.size()).isZero();
    }

    @Test
    void waiter_thatComesWhileTheKeyIsAbsent_isCalled() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("404 8");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
        AtomicInteger late = new AtomicInteger();
        watches.subscribe("a", late::incrementAndGet);
        assertThat(late).hasValue(1);
    }

    /** A proxy or cache in between answers from its memory. */
    @Test
    void agentThatDoesNotBlock_isNotAskedWithoutEnd() {
        watches.subscribe("a", calls::incrementAndGet);
        for (int i = 0; i < 500; i++) {
            answers.add("200 7");
        }
        await().atMost(PATIENCE).until(() -> asked.size() >= 4);
        assertThat(asked).hasSizeLessThan(50);
    }

    @Test
    void waiterThatThrows_doesNotEndTheWatch() {
        watches.subscribe("a", () -> {
            throw new IllegalStateException("a waiter's own fault");
        });
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("404 8");
        await().dontCatchUncaughtExceptions() // which that one is
                .atMost(PATIENCE)
                .untilAsserted(() -> assertThat(calls).hasValue(1));
        awaitAsked("", "index=8&wait=60s");
    }

    /** During a lock-delay the key is absent, and the query returns at each write to a neighbouring key. */
    @Test
    void lockDelay_waitersAreNotNotifiedAgain_untilTheKeyWasThere() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("404 12");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
        watches.delayed("a", 3_600_000);
        watches.delayed("another", 1);
        answers.addAll(List.of("404 13", "404 14", "404 15"));
        awaitAsked("", "index=12&wait=60s", "index=13&wait=60s", "index=14&wait=60s", "index=15&wait=60s");
        assertThat(calls).hasValue(1);
        answers.addAll(List.of("200 16", "404 17"));
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(2));
    }

    /** Names beyond the limit of blocking queries are asked for together, twice a second. */
    @Test
    void manyNames_areAskedForTogether() {
        looksAreAnswered = true;
        lookAnswer = ScriptedConsul.refused(1, "key \"test/n9\" exists");
        List<String> called = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 80; i++) {
            String name = "n" + i;
            watches.subscribe(name, () -> called.add(name));
        }
        await().atMost(PATIENCE).untilAsserted(() -> {
            assertThat(asked).filteredOn(query -> query.startsWith("index")).hasSize(8);
            assertThat(called).contains("n8", "n10", "n79");
        });
        assertThat(called).doesNotContain("n0", "n7", "n9");
        assertThat(looks)
                .element(0)
                .asString()
                .contains("\"test/n8\"", "\"test/n71\"")
                .doesNotContain("\"test/n72\"");
        assertThat(looks)
                .element(1)
                .asString()
                .contains("\"test/n72\"", "\"test/n79\"")
                .doesNotContain("\"test/n71\"");
        assertThat(asked).filteredOn(String::isEmpty).as("reads of one name").hasSize(8);
    }

    /** Consul refuses paths with such characters since 1.21.5. */
    @Test
    void prefixThatCannotBeInAPath_isAskedForByTransactions() {
        ConsulKeys odd = new ConsulKeys("shop:eu/");
        ConsulHttp http = new ConsulHttp(agent.connection());
        new KeyWatchRegistry(http, new KeyLooks(new SessionPool(http, odd, null)), odd)
                .subscribe("a", calls::incrementAndGet);
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasPositiveValue());
        assertThat(asked).isEmpty();
        assertThat(looks).element(0).asString().contains("\"shop:eu/a\"");
    }

    /** Closing a subscription twice must not close another one. */
    @Test
    void callback_thatIsGivenTwice_isTwoWaiters() {
        Runnable twice = calls::incrementAndGet;
        Subscription one = watches.subscribe("a", twice);
        watches.subscribe("a", twice);
        one.close();
        one.close();
        assertThat(watches.size()).isEqualTo(1);
        answers.add("404 8");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(calls).hasValue(1));
    }

    /** The query of an ended watch does not affect the next watch. */
    @Test
    void watch_thatHasEnded_isFollowedByAFreshOne() {
        watches.subscribe("a", calls::incrementAndGet).close();
        assertThat(watches.size()).isZero();
        watches.subscribe("a", calls::incrementAndGet);
        assertThat(watches.size()).isEqualTo(1);
        answers.add("200 7");
        answers.add("200 7");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(asked).contains("index=7&wait=60s"));
        assertThat(calls).hasValue(0);
    }

    @Test
    void waiter_thatComesWhenTheKeyIsThereAgain_isNotCalled() {
        watches.subscribe("a", calls::incrementAndGet);
        answers.add("404 8");
        answers.add("200 9");
        awaitAsked("", "index=8&wait=60s", "index=9&wait=60s");
        AtomicInteger late = new AtomicInteger();
        watches.subscribe("a", late::incrementAndGet);
        assertThat(late).hasValue(0);
        assertThat(calls).hasValue(1);
        answers.add("404 10");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(late).hasValue(1));
    }
}
