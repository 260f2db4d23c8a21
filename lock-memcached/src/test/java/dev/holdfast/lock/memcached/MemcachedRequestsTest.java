package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The requests of attempts, releases and abandonments, with their ids and expiries, and the handling of each answer.
 */
final class MemcachedRequestsTest {
    private static final AcquisitionId ID = new AcquisitionId("n", new OwnerId(1, 2));
    private static final AcquisitionId OTHER = new AcquisitionId("n", new OwnerId(3, 4));
    private static final Identity IDENTITY = new Identity("me", "host", 7);
    private static final long START_MICROS = 1_000_000_000L;
    private static final long LEASE_MILLIS = 15_000;

    private final ScriptedMemcached memcached = new ScriptedMemcached();
    private final List<String> closed = new ArrayList<>();
    private final MemcachedLockBackend backend = new MemcachedLockBackend(
            memcached.client(),
            new MemcachedKeys("p"),
            MemcachedFailures.of("memcached", new ConnectionState()),
            () -> closed.add(memcached.listeners() + " listeners"));

    @BeforeEach
    void connected() {
        BackendDriver.answer(backend.holder("warm", 3_000)); // which reads the start of the server
        memcached.put(
                "p:warm",
                LockItem.asked(BackendDriver.newAcquisition("warm").owner(), IDENTITY)
                        .encoded());
        memcached.asked();
    }

    private AcquireResult attempt(AcquisitionId id, long leaseMillis) {
        return BackendDriver.answer(
                backend.tryAcquire(new AcquireRequest(id, leaseMillis, 0, false, null, 3_000, IDENTITY)));
    }

    private Grant grant(AcquisitionId id) {
        AcquireResult result = attempt(id, LEASE_MILLIS);
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        memcached.asked();
        return ((AcquireResult.Granted) result).grant();
    }

    private long cas() {
        return Objects.requireNonNull(memcached.item("p:n")).getCas();
    }

    private void putOf(AcquisitionId id) {
        memcached.put("p:n", LockItem.asked(id.owner(), IDENTITY).encoded());
    }

    @Test
    void info_isOfAStoreThatIsPolled_andLetsItemsExpire() {
        BackendInfo info = backend.info();
        assertThat(info.name()).isEqualTo("memcached");
        assertThat(info.minLeaseMillis()).isEqualTo(1_000);
        assertThat(info.pollMinMillis()).isEqualTo(20);
        assertThat(info.pollMaxMillis()).isEqualTo(100);
        assertThat(info.expiring()).isTrue();
        assertThat(List.of(info.ordered(), info.fifo(), info.blocking(), info.listing(), info.handsOver()))
                .containsOnly(false);
    }

    @Test
    void attempt_isAddAndRead_andHasTheLeaseThatAnExpiryCanHold() {
        assertThat(attempt(ID, LEASE_MILLIS))
                .asInstanceOf(type(AcquireResult.Granted.class))
                .satisfies(granted -> {
                    assertThat(granted.grant().acquisition()).isEqualTo(ID);
                    assertThat(granted.grant().token()).isEqualTo(START_MICROS + cas());
                    assertThat(granted.grant().leaseMillis()).isEqualTo(LEASE_MILLIS);
                });
        assertThat(memcached.asked()).containsExactly("add p:n 18", "get p:n");

        long months = Duration.ofDays(90).toMillis();
        memcached.remove("p:n");
        assertThat(attempt(OTHER, months))
                .asInstanceOf(type(AcquireResult.Granted.class))
                .satisfies(granted -> assertThat(granted.grant().leaseMillis()).isEqualTo(Expiry.granted(months)));
        assertThat(memcached.asked()).contains("add p:n 2591999");
    }

    /** With a ticket the engine abandons the attempt, which is one more request. */
    @Test
    void attempt_onAnothersItem_isBusy_withATicketOnlyIfItStoredSomething() {
        putOf(OTHER);
        assertThat(attempt(ID, LEASE_MILLIS)).isEqualTo(new AcquireResult.Busy(-1, null));

        memcached.instead("add", MemcacheStatus.OK); // over a reconnect: the read is of an earlier time
        assertThat(attempt(ID, LEASE_MILLIS))
                .asInstanceOf(type(AcquireResult.Busy.class))
                .satisfies(busy -> {
                    assertThat(busy.remainingMillis()).isEqualTo(-1);
                    assertThat(busy.ticket()).isNotNull();
                });

        memcached.instead("add", MemcacheStatus.ITEM_NOT_STORED);
        memcached.remove("p:n"); // between the two
        assertThat(attempt(ID, LEASE_MILLIS)).isEqualTo(new AcquireResult.Busy(-1, null));
    }

    @Test
    void attempt_onItsOwnItem_isRenewed_orSaysWhyNot() {
        Grant first = grant(ID);
        long before = cas();
        assertThat(attempt(ID, LEASE_MILLIS))
                .asInstanceOf(type(AcquireResult.Granted.class))
                .satisfies(granted -> assertThat(granted.grant().token()).isEqualTo(first.token()));
        assertThat(memcached.asked()).containsExactly("add p:n 18", "get p:n", "cas p:n 18 " + before, "get p:n");

        memcached.instead("cas", MemcacheStatus.VALUE_TOO_LARGE);
        assertThatThrownBy(() -> attempt(ID, LEASE_MILLIS))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("memcached answers VALUE_TOO_LARGE to the renewal; try again");
        IOException reset = new IOException("reset");
        memcached.instead("cas", CompletableFuture.failedStage(reset));
        assertThatThrownBy(() -> attempt(ID, LEASE_MILLIS))
                .isInstanceOf(LockUnavailableException.class)
                .hasRootCause(reset);
        memcached.instead("cas", MemcacheStatus.KEY_NOT_FOUND);
        assertThat(attempt(ID, LEASE_MILLIS)).isEqualTo(new AcquireResult.Busy(-1, null));
    }

    @Test
    void attempt_whoseAnswerSaysNeither_isUnknown() {
        memcached.instead("add", MemcacheStatus.VALUE_TOO_LARGE);
        assertThatThrownBy(() -> attempt(ID, LEASE_MILLIS))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("memcached answers VALUE_TOO_LARGE; the outcome is unknown, try again");
    }

    /** What was read across a reconnect may come from either run of the server. */
    @Test
    void attempt_thatIsAnsweredOverAReconnect_isUnknown_andFoundByTheNextOne() {
        CompletableFuture<GetResult<byte[]>> read = new CompletableFuture<>();
        memcached.instead("get", read);
        CompletableFuture<AcquireResult> attempt = backend.tryAcquire(
                        new AcquireRequest(ID, LEASE_MILLIS, 0, false, null, 3_000, IDENTITY))
                .toCompletableFuture();
        memcached.reconnect();
        read.complete(memcached.item("p:n"));
        assertThatThrownBy(() -> BackendDriver.answer(attempt))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("the connection to memcached has changed meanwhile");
        memcached.asked();

        assertThat(BackendDriver.release(backend, grant(ID))).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void release_isOneRequest_withTheIdThatWasRead() {
        Grant grant = grant(ID);
        long id = cas();
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(memcached.asked()).containsExactly("delete p:n " + id);
        assertThat(memcached.item("p:n")).isNull();
        assertThat(BackendDriver.release(backend, grant)).as("again").isEqualTo(ReleaseResult.NOT_HELD);
    }

    @Test
    void release_withAnOldId_looksWhoseItIs() {
        Grant grant = grant(ID);
        long old = cas();
        putOf(ID); // a renewal whose answer was lost
        long id = cas();
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(memcached.asked()).containsExactly("delete p:n " + old, "get p:n", "delete p:n " + id);

        Grant lost = grant(ID);
        putOf(OTHER);
        assertThat(BackendDriver.release(backend, lost)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(memcached.item("p:n")).as("another's").isNotNull();

        memcached.instead("delete", MemcacheStatus.VALUE_TOO_LARGE);
        assertThatThrownBy(() -> BackendDriver.release(backend, lost))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("answers VALUE_TOO_LARGE");
    }

    @Test
    void release_afterAReconnect_orOfAnothersHandle_looksFirst() {
        Grant grant = grant(ID);
        Grant stolen = new Grant(OTHER, grant.token(), LEASE_MILLIS, grant.handle());
        assertThat(BackendDriver.release(backend, stolen)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(memcached.asked()).containsExactly("get p:n");

        memcached.reconnect();
        long id = cas();
        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(memcached.asked()).containsExactly("get p:n", "delete p:n " + id);
    }

    @Test
    void grantOfAnotherBackend_isRefused() {
        Grant foreign = new Grant(ID, 1, LEASE_MILLIS, "handle");
        assertThatThrownBy(() -> BackendDriver.release(backend, foreign)).hasMessageContaining("not a grant of this");
        assertThatThrownBy(() -> BackendDriver.renew(backend, foreign)).hasMessageContaining("not a grant of this");
        assertThat(memcached.asked()).isEmpty();
    }

    @Test
    void abandon_removesWhatIsItsOwn_untilItIsGone() {
        BackendDriver.of(backend, ID, LEASE_MILLIS).abandon();
        assertThat(memcached.asked()).containsExactly("get p:n");

        putOf(ID);
        long id = cas();
        memcached.instead("delete", MemcacheStatus.KEY_EXISTS); // a renewal came between
        BackendDriver.of(backend, ID, LEASE_MILLIS).abandon();
        assertThat(memcached.asked()).containsExactly("get p:n", "delete p:n " + id, "get p:n", "delete p:n " + id);
        assertThat(memcached.item("p:n")).isNull();

        putOf(ID);
        memcached.instead("delete", MemcacheStatus.KEY_NOT_FOUND);
        BackendDriver.of(backend, ID, LEASE_MILLIS).abandon();
        memcached.instead("delete", MemcacheStatus.ITEM_NOT_STORED);
        assertThatThrownBy(() -> BackendDriver.of(backend, ID, LEASE_MILLIS).abandon())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("answers ITEM_NOT_STORED");
    }

    @Test
    void holder_isWhoTheItemNames() {
        assertThat(BackendDriver.holder(backend, "n")).isEmpty();
        String text = "holdfast1 " + ID.owner() + " %d 1700000000123 7 host me";
        memcached.put("p:n", text.formatted(0).getBytes(UTF_8));
        Instant since = Instant.ofEpochMilli(1_700_000_000_123L);
        assertThat(BackendDriver.holder(backend, "n"))
                .contains(new HolderInfo("me", "host", 7, since, START_MICROS + cas()));
        memcached.put("p:n", text.formatted(42).getBytes(UTF_8));
        assertThat(BackendDriver.holder(backend, "n")).contains(new HolderInfo("me", "host", 7, since, 42));
        memcached.put("p:n", "by hand".getBytes(UTF_8));
        assertThatThrownBy(() -> BackendDriver.holder(backend, "n")).isInstanceOf(LockConfigurationException.class);
    }

    @Test
    void failure_namesTheOperation() {
        Grant grant = grant(ID);
        Map<String, Runnable> requests = Map.of(
                "acquire", () -> attempt(OTHER, LEASE_MILLIS),
                "abandon", () -> BackendDriver.of(backend, OTHER, LEASE_MILLIS).abandon(),
                "release", () -> BackendDriver.release(backend, grant),
                "holder", () -> BackendDriver.holder(backend, "n"));
        requests.forEach((operation, request) -> {
            IOException reset = new IOException("reset");
            memcached.instead(operation.equals("release") ? "delete" : "get", CompletableFuture.failedStage(reset));
            assertThatThrownBy(request::run)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageStartingWith(operation + ": no connection to memcached (reset); ")
                    .hasCause(reset);
        });
    }

    @Test
    void close_stopsListening_thenEndsTheClient() {
        assertThat(memcached.listeners()).isEqualTo(1);
        backend.close();
        assertThat(closed).containsExactly("0 listeners");
    }
}
