package dev.holdfast.lock.consul.internal.acquisition;

import static dev.holdfast.lock.consul.ScriptedConsul.key;
import static dev.holdfast.lock.consul.ScriptedConsul.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.ScriptedConsul;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The requests of each engine call, and the handling of each answer. */
final class ConsulRequestsTest {
    private static final String HELD = refused(1, "key \"test/a\" exists");
    private static final String EPOCH = refused(0, "key \"test/~s-1\" exists");
    private static final String FAILED = "500 rpc error";

    private final ScriptedConsul consul = new ScriptedConsul();
    private final AtomicInteger closed = new AtomicInteger();
    private FakeAgent agent;
    private ConsulLockBackend backend;
    private BackendDriver driver;

    @BeforeEach
    void open() throws Exception {
        agent = new FakeAgent(consul);
        ConsulConnection plain = agent.connection();
        backend = new ConsulLockBackend(
                new ConsulConnection(plain.client(), plain.agents(), null, closed::incrementAndGet),
                ConsulFixture.KEYS,
                Duration.ofSeconds(7),
                null);
        driver = BackendDriver.of(backend, "a", 60_000);
    }

    @AfterEach
    void close() throws Exception {
        backend.close();
        agent.close();
    }

    private Grant acquired() {
        Grant grant = driver.acquire();
        consul.asked();
        return grant;
    }

    private AcquireResult attempt(long waitMillis) {
        return BackendDriver.answer(driver.send(waitMillis));
    }

    private void attemptWithoutAnAnswer() {
        consul.instead("attempt", FAILED);
        assertThatThrownBy(() -> attempt(0)).isInstanceOf(LockUnavailableException.class);
        consul.asked();
    }

    private String own(long created, long modified, String session) {
        String value = ConsulValue.of(driver.acquisition().owner(), BackendDriver.IDENTITY)
                .base64();
        return key(created, modified, session, value);
    }

    @Test
    void firstAttempt_makesTheSession_andTakesTheAbsentKey() {
        Grant grant = driver.acquire();
        assertThat(grant.token()).isEqualTo(101);
        List<String> asked = consul.asked();
        assertThat(asked.get(0))
                .isEqualTo("create /v1/session/create {\"Name\":\"holdfast 4711@host-1\",\"TTL\":\"60000ms\","
                        + "\"LockDelay\":\"60000ms\",\"Behavior\":\"delete\",\"NodeChecks\":[],\"ServiceChecks\":[]}");
        assertThat(asked.get(1))
                .startsWith("attempt /v1/txn [{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"test/~s-1\"}},"
                        + "{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"test/a\"}},"
                        + "{\"KV\":{\"Verb\":\"lock\",\"Key\":\"test/a\",\"Session\":\"s-1\",\"Value\":\""
                        + Base64.getEncoder()
                                .encodeToString((driver.acquisition().owner() + " ").getBytes()));
        assertThat(asked).hasSize(2);
        assertThat(backend.acquisitions().size()).isEqualTo(1);
    }

    @Test
    void busy_hasATicketForWhoWaits_andIsNotRemembered() {
        consul.always("attempt", HELD);
        assertThat(attempt(0)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(attempt(1)).isEqualTo(new AcquireResult.Busy(-1, new ConsulTicket(driver.acquisition())));
        assertThat(consul.kinds()).containsExactly("create", "attempt", "attempt");
        assertThat(backend.acquisitions().size()).isZero();

        consul.always("attempt", refused(2, "failed to lock key \"test/a\" due to lock delay"));
        assertThat(attempt(0)).isEqualTo(new AcquireResult.Busy(500, null));
        assertThat(attempt(1)).isEqualTo(new AcquireResult.Busy(500, new ConsulTicket(driver.acquisition())));
        assertThat(backend.acquisitions().size()).isZero();
    }

    @Test
    void sessionThatConsulDoesNotKnow_isReplaced_fourTimesAtMost() {
        String refused = refused(2, "invalid session \"s\"");
        consul.instead("attempt", refused, refused, refused, refused);
        assertThatThrownBy(() -> attempt(0))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("Consul refuses the transaction: [invalid session \"s\"]; try again");
        assertThat(consul.kinds())
                .containsExactly("create", "attempt", "create", "attempt", "create", "attempt", "create", "attempt");
        assertThat(attempt(0)).isInstanceOf(AcquireResult.Granted.class);
        assertThat(consul.asked().get(1)).contains("\"s-5\"");
    }

    @Test
    void epochThatIsNotTheOneThatWasKnown_isMadeNew_threeTimesAtMost() {
        consul.instead("attempt", EPOCH, EPOCH, EPOCH, EPOCH);
        assertThatThrownBy(() -> attempt(0))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("Consul refuses the transaction: [key \"test/~s-1\" exists]; try again");
        List<String> asked = consul.asked();
        assertThat(asked.stream().map(each -> each.substring(0, each.indexOf(' '))))
                .containsExactly("create", "attempt", "epoch", "attempt", "epoch", "attempt", "epoch", "attempt");
        assertThat(asked.get(3)).contains("{\"Verb\":\"check-index\",\"Key\":\"test/~s-1\",\"Index\":101}");
        assertThat(backend.acquisitions().size()).isZero();
    }

    @Test
    void keyInTheWay_isGrantedOnlyIfItIsItsOwn_asItWasMade() {
        attemptWithoutAnAnswer();
        consul.always("attempt", HELD);
        assertThat(attempt(0)).as("absent by now").isEqualTo(new AcquireResult.Busy(-1, null));
        consul.instead(
                "read",
                key(
                        5,
                        5,
                        "s-1",
                        ConsulValue.of(new OwnerId(1, 2), BackendDriver.IDENTITY)
                                .base64()));
        assertThat(attempt(0)).as("another's").isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(consul.kinds()).containsExactly("attempt", "read", "attempt", "read");

        consul.instead("read", own(5, 6, "s-1"));
        assertThat(attempt(0)).as("changed by hand").isEqualTo(new AcquireResult.Busy(0, null));
        assertThat(consul.asked().get(2))
                .isEqualTo("delete /v1/txn [{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"test/a\",\"Index\":6}},"
                        + "{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"test/a\",\"Index\":6}}]");

        consul.instead("read", own(5, 5, "s-1"));
        assertThat(attempt(0))
                .asInstanceOf(type(AcquireResult.Granted.class))
                .satisfies(granted -> assertThat(granted.grant().token()).isEqualTo(5));
        assertThat(consul.asked()).last().isEqualTo("renew /v1/session/renew/s-1 ");
    }

    @Test
    void renewal_of66_isOneOfTheSession_andTwoChecks_eachRefusalForItsOwn() {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 66; i++) {
            grants.add(BackendDriver.acquire(backend, "n" + i, 60_000));
        }
        consul.asked();
        consul.instead("check", "200 {\"Results\":[]}", refused(1, "failed to check index, key \"x\" doesn't exist"));
        List<RenewResult> results = BackendDriver.renew(backend, grants);

        List<Integer> lost = new ArrayList<>();
        for (int i = 0; i < 66; i++) {
            if (results.get(i) instanceof RenewResult.Lost one) {
                lost.add(i);
                assertThat(one)
                        .isEqualTo(
                                new RenewResult.Lost(LossReason.REVOKED, "its key in Consul was deleted or changed"));
            }
        }
        // The checks are sent at once, and come in any order.
        assertThat(lost).singleElement().isIn(1, 65);
        assertThat(results).filteredOn(RenewResult.Renewed.class::isInstance).hasSize(65);
        List<String> asked = consul.asked();
        assertThat(asked).filteredOn(each -> each.startsWith("renew ")).hasSize(1);
        assertThat(asked)
                .filteredOn(each -> each.startsWith("check /v1/txn?consistent "))
                .hasSize(2);
    }

    @Test
    void renewal_isMadeOfTheSessionsAnswerAndTheKeys() {
        Grant grant = acquired();
        String gone = refused(0, "failed to check index, key \"test/a\" doesn't exist");
        String changed = "its key in Consul was deleted or changed";

        assertThat(renewed(grant, "200 []", "200 {\"Results\":[]}"))
                .asInstanceOf(type(RenewResult.Renewed.class))
                .satisfies(renewed -> assertThat(renewed.leaseMillis()).isEqualTo(60_000));
        assertThat(renewed(grant, "404 ", "200 {\"Results\":[]}"))
                .isEqualTo(new RenewResult.Unknown("Consul does not find its session s-1", null));
        for (String[] unknown :
                new String[][] {{FAILED, "200 {\"Results\":[]}"}, {"200 []", FAILED}, {"404 ", FAILED}}) {
            assertThat(renewed(grant, unknown[0], unknown[1]))
                    .as("%s, %s", unknown[0], unknown[1])
                    .isInstanceOf(RenewResult.Unknown.class);
        }
        assertThat(renewed(grant, FAILED, "200 {\"Results\":[]}"))
                .asInstanceOf(type(RenewResult.Unknown.class))
                .satisfies(unknown -> {
                    assertThat(unknown.detail()).startsWith("Consul answers 500, rpc error; ");
                    assertThat(unknown.cause()).isInstanceOf(LockUnavailableException.class);
                });
        assertThat(renewed(grant, FAILED, gone)).isEqualTo(new RenewResult.Lost(LossReason.REVOKED, changed));
        assertThat(renewed(acquiredAnew(), "404 ", gone))
                .isEqualTo(new RenewResult.Lost(LossReason.SESSION_LOST, "Consul has ended its session s-1"));
    }

    private Grant acquiredAnew() {
        driver = BackendDriver.of(backend, "a", 60_000);
        return acquired();
    }

    private RenewResult renewed(Grant grant, String session, String key) {
        consul.instead("renew", session);
        consul.instead("check", key);
        return BackendDriver.renew(backend, grant);
    }

    /** A key that was changed by hand would stay with the session, which other locks keep alive. */
    @Test
    void whatALostGrantHasLeft_isRemovedAtALaterRenewal_ifThatFailsAtFirst() {
        Grant lost = acquired();
        Grant other = BackendDriver.acquire(backend, "b", 60_000);
        consul.asked();
        consul.instead("read", FAILED, own(1, 2, "s-1"));
        assertThat(renewed(lost, "200 []", refused(0, "failed to check index, key \"test/a\" doesn't exist")))
                .isInstanceOf(RenewResult.Lost.class);
        await().atMost(Duration.ofMinutes(1)).until(() -> {
            assertThat(BackendDriver.renew(backend, other)).isInstanceOf(RenewResult.Renewed.class);
            return consul.has("delete");
        });
        assertThat(consul.kinds()).filteredOn("read"::equals).hasSize(2);
    }

    @Test
    void grantOfSomebodyElse_isNotTouched() {
        Grant grant = acquired();
        AcquisitionId other = BackendDriver.newAcquisition("a");
        for (Grant foreign : List.of(
                new Grant(other, grant.token(), 60_000, grant.handle()),
                new Grant(grant.acquisition(), grant.token() + 1, 60_000, grant.handle()),
                new Grant(grant.acquisition(), grant.token(), 60_000, "handle"))) {
            assertThat(BackendDriver.renew(backend, foreign))
                    .isEqualTo(new RenewResult.Lost(LossReason.REVOKED, "it is not this client's grant"));
            assertThat(BackendDriver.release(backend, foreign)).isEqualTo(ReleaseResult.NOT_HELD);
        }
        assertThat(consul.asked()).isEmpty();
    }

    @Test
    void release_isOneRequest_andALookIfTheKeyIsNotAsItWas() {
        Grant grant = acquired();
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(consul.asked())
                .containsExactly("delete /v1/txn [{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"test/a\",\"Index\":101}},"
                        + "{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"test/a\",\"Index\":101}}]");
        assertThat(backend.acquisitions().size()).isZero();

        consul.instead("delete", refused(0, "failed to check index, key \"test/a\" doesn't exist"));
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(consul.kinds()).containsExactly("delete", "read");

        consul.instead("delete", refused(0, "failed index check for key \"test/a\", current modify index 9 != 101"));
        consul.instead("read", key(101, 9, "s-1", "aGFuZA=="));
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(consul.asked())
                .as("what was changed by hand is removed")
                .last()
                .asString()
                .contains("\"delete-cas\",\"Key\":\"test/a\",\"Index\":9}");
        consul.instead("delete", refused(0, "failed index check for key \"test/a\", current modify index 9 != 101"));
        consul.instead("read", key(102, 102, "s-2", "aGFuZA=="));
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(consul.kinds()).as("another's is left alone").containsExactly("delete", "read");
    }

    /** An attempt of an older epoch or of an ended session cannot change anything. */
    @Test
    void release_behindAnAttemptThatCanDoNothing_makesNoFurtherEpoch() {
        attemptWithoutAnAnswer();
        consul.instead("attempt", EPOCH);
        Grant grant = driver.acquire();
        assertThat(consul.kinds()).containsExactly("attempt", "epoch", "attempt");
        consul.instead("read", own(grant.token(), grant.token(), "s-1"));
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(consul.kinds()).containsExactly("read", "delete");

        attemptWithoutAnAnswer();
        consul.instead("attempt", refused(2, "invalid session \"s-1\""));
        Grant next = driver.acquire();
        assertThat(consul.kinds()).containsExactly("attempt", "create", "attempt");
        consul.instead("read", own(next.token(), next.token(), "s-2"));
        assertThat(BackendDriver.release(backend, next)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(consul.kinds()).containsExactly("read", "delete");
    }

    @Test
    void release_behindAnAttemptWithoutAnAnswer_isOfWhatItFindsThere() {
        attemptWithoutAnAnswer();
        Grant grant = acquired();
        consul.instead("read", own(grant.token() + 1, grant.token() + 1, "s-1")); // made by the one without an answer
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(consul.kinds()).containsExactly("epoch", "read", "delete");
        assertThat(backend.acquisitions().size()).isZero();
    }

    @Test
    void abandon_endsWhatThereMayBe_andIsRepeatedIfItFails() {
        BackendDriver.of(backend, "nothing").abandon();
        assertThat(consul.asked()).isEmpty();

        acquired();
        driver.abandon();
        assertThat(consul.kinds()).as("of a grant").containsExactly("delete");
        assertThat(backend.acquisitions().size()).isZero();

        driver = BackendDriver.of(backend, "a", 60_000);
        attemptWithoutAnAnswer();
        for (String kind : List.of("epoch", "read")) {
            consul.instead(kind, FAILED);
            assertThatThrownBy(driver::abandon).isInstanceOf(LockUnavailableException.class);
            assertThat(backend.acquisitions().size()).isEqualTo(1);
        }
        consul.asked();
        driver.abandon();
        assertThat(consul.kinds()).as("the epoch is new since").containsExactly("read");
        assertThat(backend.acquisitions().size()).isZero();
    }

    @Test
    void failure_namesTheOperation() {
        Grant grant = acquired();
        Map<String, Runnable> requests = Map.of(
                "acquire", () -> BackendDriver.acquire(backend, "b", 60_000),
                "abandon", driver::abandon,
                "release", () -> BackendDriver.release(backend, grant),
                "holder", () -> BackendDriver.holder(backend, "a"));
        List.of("attempt", "delete", "read").forEach(kind -> consul.always(kind, FAILED));
        requests.forEach((operation, request) -> assertThatThrownBy(request::run)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage(operation + ": Consul answers 500, rpc error; the outcome is unknown, try again"));
    }

    @Test
    void holder_isReadFromTheLeader() {
        assertThat(BackendDriver.holder(backend, "a")).isEmpty();
        assertThat(consul.asked())
                .containsExactly("read /v1/txn?consistent [{\"KV\":{\"Verb\":\"get\",\"Key\":\"test/a\"}}]");
        String value = Base64.getEncoder()
                .encodeToString((driver.acquisition().owner() + " 1700000000123 7 host me").getBytes());
        consul.instead("read", key(5, 6, "s-1", value));
        assertThat(BackendDriver.holder(backend, "a"))
                .contains(new HolderInfo("me", "host", 7, Instant.ofEpochMilli(1_700_000_000_123L), 5));
    }

    @Test
    void close_endsTheSessions_andTheClient_whateverHappens() {
        acquired();
        BackendDriver.acquire(backend, "b", 30_000);
        consul.asked();
        consul.instead("destroy", FAILED);
        backend.close();
        assertThat(consul.asked())
                .containsExactlyInAnyOrder("destroy /v1/session/destroy/s-1 ", "destroy /v1/session/destroy/s-2 ");
        assertThat(closed).hasValue(1);
        assertThatThrownBy(() -> attempt(0))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("its client is closed");
        backend.close();
        assertThat(closed).as("twice").hasValue(1);
        assertThat(consul.asked()).isEmpty();
    }

    @Test
    void close_whileInterrupted_endsTheClient_andStaysInterrupted() {
        acquired();
        consul.always("destroy", "stall");
        Thread.currentThread().interrupt();
        backend.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(closed).hasValue(1);
    }
}
