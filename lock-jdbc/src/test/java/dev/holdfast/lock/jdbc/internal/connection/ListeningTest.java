package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.ScriptedEar;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.PostgresSql;
import dev.holdfast.lock.jdbc.internal.notification.WaitTicket;
import dev.holdfast.lock.jdbc.internal.notification.Wakeups;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a client listens, when it relies on notifications, and when it stops. No server; the test drives the time. */
final class ListeningTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long FIVE_MINUTES = 300_000;
    private static final String LISTEN = "LISTEN \"locks\"";
    private static final String UNLISTEN = "UNLISTEN \"locks\"";

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres().answer("WITH relaxed", true);
    private final ScriptedEar notified = new ScriptedEar();
    private Database database;
    private Wakeups wakeups;

    private static ConditionFactory soon() {
        return await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    private void open() {
        scripted.listenWith(notified);
        database = Database.open(
                scripted.dataSource(),
                new Database.SchemaRequest(LockTable.VERSION, new TableName("shop.Locks"), false),
                PATIENCE.toMillis(),
                () -> {});
        wakeups = Objects.requireNonNull(Wakeups.of(database, notified.nanos::get));
    }

    @AfterEach
    void close() {
        notified.goOn();
        wakeups.close();
        database.close();
    }

    private void read(long millis, String... payloads) throws InterruptedException {
        notified.read(millis, payloads);
    }

    private void settle() throws InterruptedException {
        notified.settle();
    }

    /** The listener has left its thread, and no other background work runs. */
    private void idle() throws InterruptedException {
        idle(4);
    }

    /** No background work runs, except on threads above that number. */
    private void idle(int threads) throws InterruptedException {
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            wakeups.inBackground(() -> {
                all.countDown();
                try {
                    all.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        assertThat(all.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    private List<String> hellos() {
        return scripted.calls.stream()
                .filter(call -> call.startsWith("bind 2 hello "))
                .map(call -> call.substring("bind 2 ".length()))
                .toList();
    }

    private String hello(int number) {
        soon().until(() -> hellos().size() >= number);
        return hellos().get(number - 1);
    }

    private long announcements() {
        return scripted.statements().stream()
                .filter(sql -> sql.startsWith("WITH relaxed"))
                .count();
    }

    private void awaitCount(String call, int count) {
        soon().until(() -> scripted.count(call) >= count);
        assertThat(scripted.count(call)).as(call).isEqualTo(count);
    }

    private final class Waiter {
        final AtomicInteger calls = new AtomicInteger();
        final WaitTicket ticket;
        Subscription subscription;

        Waiter(String name, Demand demand) {
            ticket = wakeups.busy(new AcquisitionId(name, OwnerId.random(), demand), null);
            subscribe();
        }

        void subscribe() {
            subscription = wakeups.listen(ticket, calls::incrementAndGet);
        }

        void awaitCalls(int count) {
            soon().until(() -> calls.get() >= count);
            assertThat(calls).hasValue(count);
        }
    }

    private Waiter waiter(String name) {
        return new Waiter(name, Demand.EXCLUSIVE);
    }

    @Test
    void waiters_areAnnounced_whenOneOfItsOwnNotificationsHasArrived() throws Exception {
        open();
        Waiter waiter = waiter("a");
        waiter.awaitCalls(1); // by a poll: there is no notification yet
        read(0, "hello of another client", "elsewhere");
        settle();
        idle(3);
        assertThat(announcements()).isZero();
        assertThat(notified.readMillis).isEqualTo(250);

        read(0, hello(1));

        soon().until(() -> announcements() == 1);
        assertThat(scripted.calls).containsSubsequence("bind 1 a", "bind 2 a");
        assertThat(scripted.calls)
                .containsSubsequence(
                        "bind 1 locks",
                        "bind 2 " + hello(1),
                        "SELECT pg_catalog.pg_notify(CAST(? AS pg_catalog.text), CAST(? AS pg_catalog.text))");
        assertThat(hello(1)).matches("hello [0-9a-f-]{36}");
        Waiter next = waiter("b");
        soon().until(() -> announcements() == 2);
        settle();
        assertThat(next.calls).as("polls of an announced waiter").hasValue(0);
        assertThat(waiter.calls).hasValue(1);
        assertThat(PostgresSql.channel(new TableName("Shop.LOCKS"))).isEqualTo("locks");
    }

    /** What finds the lock free meanwhile has missed its release; of permits, there may be room though some are held. */
    @Test
    void announcement_thatFindsItFree_callsAtOnce() throws Exception {
        open();
        Waiter held = waiter("held");
        held.awaitCalls(1);
        read(0, hello(1));
        settle();
        soon().until(() -> announcements() == 1);

        scripted.answer("WITH relaxed", false);
        waiter("free").awaitCalls(1);
        scripted.when("WITH relaxed", sql -> null);
        waiter("gone").awaitCalls(1);
        scripted.answer("WITH relaxed", true);
        new Waiter("permits", new Demand.Permits(1, 2)).awaitCalls(1);
        scripted.refuse("WITH relaxed", new SQLException("no", "08006"));
        waiter("not announced").awaitCalls(1);
        assertThat(held.calls).hasValue(1);
    }

    /** A waiter that listens already and tries again without success. */
    @Test
    void busyAgain_keepsItsTicket_andPollsWhereNobodyCalls() throws Exception {
        open();
        Waiter waiter = waiter("a");
        waiter.awaitCalls(1);
        AcquisitionId acquisition = new AcquisitionId("a", OwnerId.random());

        assertThat(wakeups.busy(acquisition, waiter.ticket)).isSameAs(waiter.ticket);
        waiter.awaitCalls(2);

        waiter.subscription.close();
        assertThat(wakeups.busy(acquisition, waiter.ticket)).isSameAs(waiter.ticket);
        assertThat(waiter.calls).hasValue(2);
        assertThat(wakeups.busy(acquisition, null)).isNotSameAs(waiter.ticket);
    }

    @Test
    void noNotificationArrives_isTriedForFiveSeconds_andAgainAfterFiveMinutes() throws Exception {
        open();
        try (LogCapture log = new LogCapture()) {
            waiter("a").awaitCalls(1);
            hello(1);
            for (int second = 1; second <= 4; second++) {
                read(1_000);
                settle();
                assertThat(hellos()).hasSize(second);
                read(1);
                hello(second + 1);
            }
            read(996); // five seconds in all
            settle();
            assertThat(scripted.count(UNLISTEN)).isZero();
            read(1);

            awaitCount(UNLISTEN, 1);
            assertThat(hellos()).as("of one listener").hasSize(5).containsOnly(hello(1));
            idle();
            assertThat(log.ours()).hasSize(1);
            assertThat(log.ours().get(0))
                    .contains(
                            " INFO ",
                            "channel 'locks': notifications do not arrive, as behind a proxy that pools transactions; waiters"
                                    + " poll instead");
        }
        assertThat(announcements()).isZero();
        notified.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(FIVE_MINUTES) - 1);
        waiter("b").awaitCalls(1);
        assertThat(scripted.count(LISTEN)).isEqualTo(1);

        notified.nanos.incrementAndGet();
        waiter("c").awaitCalls(1);
        awaitCount(LISTEN, 2);
    }

    @Test
    void nobodyWaits_listensForTenSecondsMore_andLeavesTheConnectionAsItWas() throws Exception {
        scripted.autoCommit(false);
        scripted.networkTimeoutMillis(77);
        open();
        Waiter waiter = waiter("a");
        assertThat(wakeups.isNeeded()).isTrue();
        read(0, hello(1));
        read(9_000, "something");
        settle();
        waiter.subscription.close();
        assertThat(wakeups.isNeeded()).isFalse();
        read(9_000, "something");
        settle();
        waiter.subscribe();
        read(9_000, "something");
        settle();
        waiter.subscription.close();
        read(10_000, "something");
        settle();
        assertThat(scripted.count(UNLISTEN)).isZero();

        read(1);

        awaitCount(UNLISTEN, 1);
        soon().until(() -> scripted.logOf(UNLISTEN).contains("close"));
        assertThat(scripted.logOf(LISTEN))
                .filteredOn(line -> !line.equals("createStatement"))
                .containsExactly(
                        "unwrap",
                        "setAutoCommit true",
                        "timeout 5000",
                        LISTEN,
                        UNLISTEN,
                        "timeout 77",
                        "setAutoCommit false",
                        "close");
        Waiter next = waiter("b");
        awaitCount(LISTEN, 2);
        next.awaitCalls(1); // no notification arrives before it listens again
    }

    /** A connection that broke silently would never report it. */
    @Test
    void silence_forThirtySeconds_isAskedAbout() throws Exception {
        open();
        waiter("a");
        read(0, hello(1));
        read(30_000);
        settle();
        assertThat(scripted.count("SELECT 1")).isZero();
        read(1);
        settle();
        read(1_000);
        settle();
        assertThat(scripted.count("SELECT 1")).isEqualTo(1);
        read(20_000, "something");
        read(30_000);
        settle();
        assertThat(scripted.count("SELECT 1")).isEqualTo(1);
        read(1);
        settle();
        assertThat(scripted.count("SELECT 1")).isEqualTo(2);
    }

    @Test
    void notification_callsThoseOfItsName_andNobodyElse() throws Exception {
        open();
        Waiter one = waiter("a");
        Waiter other = waiter("b");
        Waiter another = waiter("a");
        for (Waiter each : List.of(one, other, another)) {
            each.awaitCalls(1);
        }
        read(0, hello(1));
        settle();
        read(0, one.ticket.payload(), "something");
        settle();
        assertThat(List.of(one.calls.get(), another.calls.get(), other.calls.get()))
                .containsExactly(2, 2, 1);

        another.subscription.close();
        read(0, other.ticket.payload(), one.ticket.payload());
        settle();
        assertThat(List.of(one.calls.get(), another.calls.get(), other.calls.get()))
                .containsExactly(3, 2, 2);
    }

    @Test
    void connectionBreaks_isEnded_waitersPollUntilTheNextOneIsHeard() throws Exception {
        open();
        Waiter waiter = waiter("a");
        waiter.awaitCalls(1);
        read(0, hello(1));
        settle();
        soon().until(() -> announcements() == 1);
        notified.broken = new SQLException("broken", "08006");
        try (LogCapture log = new LogCapture()) {
            read(0);

            waiter.awaitCalls(2);
            assertThat(scripted.logOf(LISTEN)).endsWith("abort", "close").doesNotContain(UNLISTEN);
            awaitCount(LISTEN, 2);
            assertThat(log.ours()).isEmpty();
        }
        read(0, hello(1)); // of the connection before
        settle();
        idle(3);
        assertThat(announcements()).isEqualTo(1);
        read(0, hello(2));
        soon().until(() -> announcements() == 2);
    }

    /** Failures that a retry cannot fix: a pool that hides its driver, another driver, or no right to connect. */
    @ParameterizedTest
    @ValueSource(strings = {"hidden driver", "no access"})
    void listening_isNotPossible_isNotTriedForFiveMinutes(String why) throws Exception {
        open();
        if (why.equals("hidden driver")) {
            scripted.listenWith(null);
        } else {
            scripted.refuse("LISTEN", new SQLException("not you", "28000"));
        }
        Waiter waiter = waiter("a");
        waiter.awaitCalls(1);
        awaitCount("abort", 1);
        idle();
        waiter("b").awaitCalls(1);
        waiter("c").awaitCalls(1);
        assertThat(scripted.count("abort")).isEqualTo(1);

        notified.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(FIVE_MINUTES));
        waiter("d").awaitCalls(1);
        awaitCount("abort", 2);
    }

    @Test
    void close_endsTheListener_andLeavesItsConnectionInOrder() throws Exception {
        open();
        waiter("a");
        read(0, hello(1));
        notified.goOn();

        wakeups.close();

        soon().until(() -> scripted.logOf(LISTEN).contains("close"));
        assertThat(scripted.logOf(LISTEN)).contains(UNLISTEN);
        assertThat(wakeups.isNeeded()).isFalse();
        Waiter late = waiter("late");
        late.awaitCalls(1);
        assertThat(scripted.count(LISTEN)).isEqualTo(1);
    }
}
