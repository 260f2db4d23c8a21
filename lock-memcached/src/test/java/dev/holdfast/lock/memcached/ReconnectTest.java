package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.GetResult;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** Answers before and after a change of the connection, with a client whose answers a test controls. */
final class ReconnectTest {
    private static final AcquisitionId ACQUISITION = new AcquisitionId("n", new OwnerId(1, 2));
    private static final Identity IDENTITY = new Identity("", "host", 7);

    private final ScriptedMemcached memcached = new ScriptedMemcached();
    private final MemcachedLockBackend backend = new MemcachedLockBackend(
            memcached.client(),
            new MemcachedKeys("p"),
            MemcachedFailures.of("memcached", new ConnectionState()),
            () -> {});

    private static GetResult<byte[]> own(long cas) {
        return GetResult.success(LockItem.asked(ACQUISITION.owner(), IDENTITY).encoded(), cas);
    }

    /** Over a reconnect the read may overtake the add: what that has stored would stay for its lease. */
    @Test
    void item_thatWasStored_andIsNotSeen_isToBeAbandoned() throws Exception {
        memcached.instead("get", CompletableFuture.completedStage(null));
        AcquireResult result = backend.tryAcquire(
                        new AcquireRequest(ACQUISITION, 15_000, 0, false, null, 3_000, IDENTITY))
                .toCompletableFuture()
                .get();

        assertThat(memcached.asked()).containsExactly("add p:n 18", "get p:n", "stats ");
        assertThat(result)
                .isInstanceOfSatisfying(
                        AcquireResult.Busy.class,
                        busy -> assertThat(busy.ticket()).isNotNull());
    }

    /** Its cas id may be that of another holder's item by now. */
    @Test
    void item_thatWasReadBeforeAReconnect_isNotDeleted() throws Exception {
        CompletableFuture<GetResult<byte[]>> answer = new CompletableFuture<>();
        memcached.instead("get", answer);
        CompletableFuture<Void> abandoned = backend.abandon(ACQUISITION, 3_000).toCompletableFuture();
        memcached.reconnect();
        answer.complete(own(5));

        assertThat(abandoned)
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(LockUnavailableException.class);
        assertThat(memcached.asked()).containsExactly("get p:n");

        memcached.put("p:n", own(6));
        backend.abandon(ACQUISITION, 3_000).toCompletableFuture().get();
        assertThat(memcached.asked()).containsExactly("get p:n", "delete p:n 6");
    }

    @Test
    void item_ofSomebodyElse_isNotDeleted() throws Exception {
        memcached.put("p:n", "by hand".getBytes(UTF_8));
        backend.abandon(ACQUISITION, 3_000).toCompletableFuture().get();
        assertThat(memcached.asked()).containsExactly("get p:n");
    }
}
