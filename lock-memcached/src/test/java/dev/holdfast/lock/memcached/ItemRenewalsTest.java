package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The requests of a renewal, and the handling of each pair of answers: to the write, and to the read that follows. */
final class ItemRenewalsTest {
    private static final Identity IDENTITY = new Identity("me", "host", 7);
    private static final long LEASE_MILLIS = 15_000;

    private final ScriptedMemcached memcached = new ScriptedMemcached();
    private final MemcachedLockBackend backend = new MemcachedLockBackend(
            memcached.client(),
            new MemcachedKeys("p"),
            MemcachedFailures.of("memcached", new ConnectionState()),
            () -> {});

    @BeforeEach
    void connected() {
        BackendDriver.answer(backend.holder("warm", 3_000)); // which reads the start of the server
        memcached.put(
                "p:warm",
                LockItem.asked(BackendDriver.newAcquisition("warm").owner(), IDENTITY)
                        .encoded());
        memcached.asked();
    }

    private Grant grant(String name) {
        Grant grant = BackendDriver.acquire(backend, name, LEASE_MILLIS);
        memcached.asked();
        return grant;
    }

    private long cas(String name) {
        return item(name).getCas();
    }

    private GetResult<byte[]> item(String name) {
        return Objects.requireNonNull(memcached.item("p:" + name));
    }

    private void putOf(AcquisitionId id) {
        memcached.put("p:" + id.name(), LockItem.asked(id.owner(), IDENTITY).encoded());
    }

    private static AcquisitionId another(Grant grant) {
        return new AcquisitionId(grant.acquisition().name(), new OwnerId(3, 4));
    }

    @Test
    void renewal_ofMany_isAWriteForEach_andOneRead_answeredInTheirOrder() {
        Grant a = grant("a");
        Grant b = grant("b");
        Grant c = grant("c");
        long idA = cas("a");
        memcached.remove("p:b");
        memcached.instead("cas", CompletableFuture.failedStage(new IOException("reset")));
        List<RenewResult> results = BackendDriver.renew(backend, List.of(a, b, c));

        assertThat(results.get(0)).as("its own write failed").isInstanceOf(RenewResult.Unknown.class);
        assertThat(results.get(1)).isInstanceOf(RenewResult.Lost.class);
        assertThat(results.get(2)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        assertThat(memcached.asked()).hasSize(4).startsWith("cas p:a 18 " + idA).endsWith("get p:a p:b p:c");
    }

    /** The new id does not contain the token, and the next request needs the new id. */
    @Test
    void renewal_writesTheToken_andKeepsTheNewId() {
        Grant grant = grant("a");
        assertThat(BackendDriver.renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        LockItem written = LockItem.decode(item("a").getValue());
        assertThat(written.token()).isEqualTo(grant.token());
        assertThat(written.isOf(grant.acquisition().owner())).isTrue();
        memcached.asked();

        long id = cas("a");
        BackendDriver.renew(backend, grant);
        assertThat(memcached.asked()).containsExactly("cas p:a 18 " + id, "get p:a");
        BackendDriver.release(backend, grant);
        assertThat(memcached.asked()).hasSize(1);
    }

    @Test
    void item_thatIsGone_isALoss() {
        Grant grant = grant("a");
        memcached.instead("cas", MemcacheStatus.KEY_NOT_FOUND); // and another client has added it again
        assertLost(grant, "memcached has it no more");
        memcached.instead("get", CompletableFuture.completedStage(Arrays.asList((Object) null)));
        assertLost(grant, "memcached has it no more");
        memcached.remove("p:a");
        assertLost(grant, "memcached has it no more");
        putOf(another(grant));
        assertLost(grant, "memcached has it for another holder");
        memcached.put("p:a", "by hand".getBytes(UTF_8));
        assertLost(grant, "memcached has it for another holder");
    }

    private void assertLost(Grant grant, String detail) {
        assertThat(BackendDriver.renew(backend, grant))
                .asInstanceOf(type(RenewResult.Lost.class))
                .satisfies(lost -> {
                    assertThat(lost.reason()).isEqualTo(LossReason.REVOKED);
                    assertThat(lost.detail()).startsWith(detail);
                });
    }

    @Test
    void answer_thatSaysNothing_isUnknown() {
        Grant grant = grant("a");
        memcached.instead("cas", MemcacheStatus.VALUE_TOO_LARGE);
        assertThat(BackendDriver.renew(backend, grant))
                .isEqualTo(new RenewResult.Unknown("memcached answers VALUE_TOO_LARGE to the renewal", null));
        for (String kind : List.of("cas", "get")) {
            IOException reset = new IOException("reset");
            memcached.instead(kind, CompletableFuture.failedStage(reset));
            assertThat(BackendDriver.renew(backend, grant))
                    .asInstanceOf(type(RenewResult.Unknown.class))
                    .satisfies(unknown -> {
                        assertThat(unknown.detail()).startsWith("no connection to memcached (reset); check that");
                        assertThat(unknown.cause())
                                .isInstanceOf(LockUnavailableException.class)
                                .hasCause(reset);
                    });
        }
        assertThat(BackendDriver.renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
    }

    @Test
    void idThatHasChanged_isReadAndUsed_once() {
        Grant grant = grant("a");
        long old = cas("a");
        putOf(grant.acquisition());
        long id = cas("a");
        assertThat(BackendDriver.renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        assertThat(memcached.asked()).containsExactly("cas p:a 18 " + old, "get p:a", "cas p:a 18 " + id, "get p:a");

        memcached.instead("cas", MemcacheStatus.KEY_EXISTS);
        memcached.instead("cas", MemcacheStatus.KEY_EXISTS);
        assertThat(BackendDriver.renew(backend, grant))
                .isEqualTo(new RenewResult.Unknown("the item or the connection changed between two requests", null));
        assertThat(memcached.asked()).hasSize(4);
    }

    @Test
    void idOfTheConnectionBefore_isReadFirst() {
        Grant grant = grant("a");
        memcached.reconnect();
        long id = cas("a");
        assertThat(BackendDriver.renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        assertThat(memcached.asked()).containsExactly("get p:a", "cas p:a 18 " + id, "get p:a");
        BackendDriver.release(backend, grant);
        assertThat(memcached.asked()).as("with an id of this connection").hasSize(1);
    }

    @Test
    void idThatWasReadOverAReconnect_isOfTheConnectionBefore() {
        Grant grant = grant("a");
        CompletableFuture<List<GetResult<byte[]>>> read = new CompletableFuture<>();
        memcached.instead("get", read);
        CompletableFuture<List<RenewResult>> renewal =
                backend.renew(List.of(grant), 3_000).toCompletableFuture();
        memcached.reconnect();
        read.complete(List.of(item("a")));
        assertThat(BackendDriver.answer(renewal)).containsExactly(new RenewResult.Renewed(LEASE_MILLIS));
        memcached.asked();

        assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(memcached.asked()).first().isEqualTo("get p:a");
    }
}
