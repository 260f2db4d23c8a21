package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is made of answers between which the connection has changed, by a client that answers as a test says. */
final class ReconnectTest {
    private static final AcquisitionId ACQUISITION = new AcquisitionId("n", new OwnerId(1, 2));
    private static final Identity IDENTITY = new Identity("", "host", 7);

    private final List<String> asked = new ArrayList<>();
    private final List<ConnectionChangeListener> listeners = new ArrayList<>();
    /** What a read of the lock's item brings; null: nothing. */
    private CompletionStage<@Nullable GetResult<byte[]>> item = CompletableFuture.completedStage(null);

    private final MemcacheClient<byte[]> client = client();
    private final MemcachedLockBackend backend = new MemcachedLockBackend(
            client, new MemcachedKeys("p"), MemcachedFailures.of("memcached", new Link()), () -> {});

    @SuppressWarnings("unchecked")
    private MemcacheClient<byte[]> client() {
        return (MemcacheClient<byte[]>) Proxy.newProxyInstance(
                MemcacheClient.class.getClassLoader(),
                new Class<?>[] {MemcacheClient.class},
                (proxy, method, given) -> {
                    switch (method.getName()) {
                        case "registerForConnectionChanges" -> {
                            listeners.add((ConnectionChangeListener) given[0]);
                            return null;
                        }
                        case "add", "delete" -> {
                            asked.add(method.getName());
                            return CompletableFuture.completedStage(MemcacheStatus.OK);
                        }
                        case "casGet" -> {
                            asked.add("read");
                            return given[0] instanceof List
                                    ? item.thenApply(found -> Arrays.asList(found, null))
                                    : item;
                        }
                        default -> throw new AssertionError(method.getName() + " is not planned");
                    }
                });
    }

    private void reconnect() {
        listeners.forEach(listener -> listener.connectionChanged(client));
    }

    /** Over a reconnect the read may overtake the add: what that has stored would stay for its lease. */
    @Test
    void item_thatWasStored_andIsNotSeen_isToBeAbandoned() throws Exception {
        AcquireResult result = backend.tryAcquire(
                        new AcquireRequest(ACQUISITION, 15_000, 0, false, null, 3_000, IDENTITY))
                .toCompletableFuture()
                .get();

        assertThat(asked).containsExactly("add", "read");
        assertThat(result)
                .isInstanceOfSatisfying(
                        AcquireResult.Busy.class,
                        busy -> assertThat(busy.ticket()).isNotNull());
    }

    /** Its cas id may be that of another holder's item by now. */
    @Test
    void item_thatWasReadBeforeAReconnect_isNotDeleted() throws Exception {
        CompletableFuture<@Nullable GetResult<byte[]>> answer = new CompletableFuture<>();
        item = answer;
        CompletableFuture<Void> abandoned = backend.abandon(ACQUISITION, 3_000).toCompletableFuture();
        reconnect();
        answer.complete(
                GetResult.success(LockItem.asked(ACQUISITION.owner(), IDENTITY).encoded(), 5));

        assertThat(abandoned)
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(LockUnavailableException.class);
        assertThat(asked).containsExactly("read");

        item = CompletableFuture.completedStage(
                GetResult.success(LockItem.asked(ACQUISITION.owner(), IDENTITY).encoded(), 6));
        backend.abandon(ACQUISITION, 3_000).toCompletableFuture().get();
        assertThat(asked).containsExactly("read", "read", "delete");
    }

    @Test
    void item_ofSomebodyElse_isNotDeleted() throws Exception {
        item = CompletableFuture.completedStage(GetResult.success("by hand".getBytes(UTF_8), 5));
        backend.abandon(ACQUISITION, 3_000).toCompletableFuture().get();
        assertThat(asked).containsExactly("read");
    }
}
