package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A master that cannot be reached, without a server. */
final class RedlockMasterTest {
    private final AtomicInteger tries = new AtomicInteger();

    /** Connects to nothing. */
    private final class Unreachable implements ConnectionFactory {
        @Override
        public boolean cluster() {
            return false;
        }

        @Override
        public Link connect() {
            tries.incrementAndGet();
            throw new LockUnavailableException("made up by the test; expect it");
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            throw new LockUnavailableException("made up by the test; expect it");
        }
    }

    /** Each request that needs it may try it again, once a second. */
    @Test
    void unreachable_isTriedAgainAndAgain() {
        RedlockMaster master = new RedlockMaster(
                new Unreachable(), new RedisSettings("holdfast", 60_000, true, true, 50, 1_000, null));
        assertThatThrownBy(master::connect).isInstanceOf(LockUnavailableException.class);

        await().atMost(Duration.ofSeconds(60)).until(() -> {
            assertThat(master.call(backend -> CompletableFuture.completedStage(1)))
                    .failsWithin(Duration.ZERO)
                    .withThrowableOfType(ExecutionException.class);
            return tries.get() >= 3;
        });

        assertThat(master.connected()).isNull();
    }
}
