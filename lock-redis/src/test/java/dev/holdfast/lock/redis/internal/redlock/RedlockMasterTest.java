package dev.holdfast.lock.redis.internal.redlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.redis.internal.backend.RedisSettings;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** A master that cannot be reached, without a server. */
final class RedlockMasterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    private static void pass(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RedlockMaster master(ConnectionFactory factory) {
        RedisSettings settings = new RedisSettings("holdfast", 60_000, true, true, 50, 1_000, null);
        return new RedlockMaster(factory, master -> RedisInternals.connect(master, settings));
    }

    private static CompletableFuture<Integer> call(RedlockMaster master) {
        return master.call(backend -> CompletableFuture.completedStage(1)).toCompletableFuture();
    }

    /** Each request that needs it may try it again, once a second, and does not wait for that. */
    @Test
    void unreachable_isTriedAgainAndAgain_byAThreadOfItsOwn_andIsUsedFromThenOn() {
        ScriptedMaster factory = new ScriptedMaster();
        CountDownLatch othersHaveAsked = new CountDownLatch(1);
        factory.onConnect = () -> {
            if (factory.connectors.size() == 2) {
                pass(othersHaveAsked);
            }
            if (factory.connectors.size() < 3) {
                throw new LockUnavailableException("made up by the test; expect it");
            }
        };
        RedlockMaster master = master(factory);
        ScriptedMaster closedFactory = new ScriptedMaster();
        RedlockMaster closed = master(closedFactory);
        closed.close();
        long since = System.nanoTime();
        assertThatThrownBy(master::connect).isInstanceOf(LockUnavailableException.class);
        assertThat(call(master))
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .havingCause()
                .isInstanceOf(LockUnavailableException.class)
                .withMessage(
                        "Redlock master: it could not be reached yet and is tried again; start it, or check its address");
        assertThat(master.connected()).isNull();

        await().atMost(PATIENCE).until(() -> call(master).isCompletedExceptionally() && factory.connectors.size() == 2);
        call(master);
        call(master);
        othersHaveAsked.countDown();
        await().atMost(PATIENCE)
                .until(() ->
                        call(closed).isCompletedExceptionally() && !call(master).isCompletedExceptionally());
        assertThat(closedFactory.connectors).as("nobody needs it after the end").isEmpty();

        assertThat(System.nanoTime() - since).as("the pauses of two tries").isGreaterThan(1_900_000_000L);
        assertThat(master.connected()).isNotNull();
        assertThat(factory.connectors).hasSize(3);
        assertThat(factory.connectors.subList(1, 3))
                .allMatch(Thread::isDaemon)
                .allMatch(thread -> thread.getName().equals("holdfast-redis-connect"));
        assertThat(factory.closes).as("the factory is kept").hasValue(0);
    }

    @Test
    void connectionThatComesAfterTheEnd_isClosed() {
        ScriptedMaster factory = new ScriptedMaster();
        RedlockMaster master = master(factory);
        master.close();
        assertThat(factory.closes).hasValue(1);

        master.connect();

        assertThat(factory.connectionCloses).hasValue(1);
    }

    @Test
    void connectionThatFails_leavesTheFactory_whichTheEndCloses() {
        ScriptedMaster factory = new ScriptedMaster();
        factory.onConnect = () -> {
            throw new LockUnavailableException("made up by the test; expect it");
        };
        RedlockMaster master = master(factory);
        assertThatThrownBy(master::connect).isInstanceOf(LockUnavailableException.class);
        assertThat(factory.closes).hasValue(0);
        master.close();
        assertThat(factory.closes).hasValue(1);
    }

    /** A client begins with a majority, and says how many there are if it does not find one. */
    @Test
    void client_needsAMajorityOfItsMasters() {
        for (int unreachable = 0; unreachable <= 3; unreachable++) {
            List<ScriptedMaster> masters = List.of(new ScriptedMaster(), new ScriptedMaster(), new ScriptedMaster());
            for (ScriptedMaster away : masters.subList(0, unreachable)) {
                away.onConnect = () -> {
                    throw new LockUnavailableException("away, made up by the test; expect it");
                };
            }
            RedisLocks.Builder builder = RedisInternals.redlockOf(List.copyOf(masters));
            if (unreachable < 2) {
                RedisInternals.backend(builder).close();
            } else {
                assertThatThrownBy(() -> RedisInternals.backend(builder))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessage("connecting to Redis: only " + (3 - unreachable)
                                + " of 3 masters can be reached, Redlock needs 2; start the others")
                        .hasRootCauseMessage("away, made up by the test; expect it");
            }
            assertThat(masters).allMatch(master -> master.closes.get() == 1);
            assertThat(masters.subList(unreachable, 3)).allMatch(master -> master.connectionCloses.get() == 1);
        }
    }
}
