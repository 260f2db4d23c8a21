package dev.holdfast.lock.etcd.internal.client;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.Client;
import io.grpc.Context;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** A waiter is notified of its turn, whatever happens to its watch. The engine's own polling does not take part. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdWatchTest {
    private static final long LEASE = 600_000;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.cluster();
    }

    @AfterEach
    void heal() {
        fixture.heal();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private final class Waiting implements AutoCloseable {
        final String name = "watched-" + NAMES.incrementAndGet();
        final LockBackend holder = fixture.newBackend();
        final LockBackend waiter = fixture.newBackend();
        final AtomicInteger calls = new AtomicInteger();
        final Grant held = acquire(holder, name, LEASE);
        final BackendDriver driver = BackendDriver.of(waiter, name, LEASE);
        final Subscription signal;

        Waiting() throws Exception {
            await().atMost(PATIENCE).until(() -> watches() == 0);
            driver.queueUp();
            signal = waiter.subscribe(driver.ticket(), calls::incrementAndGet);
            await().atMost(PATIENCE).until(() -> watches() == 1);
        }

        /** The lock becomes free behind the backs of all backends. */
        void free() throws Exception {
            assertThat(calls).as("calls before the lock is free").hasValue(0);
            fixture.expire(name);
        }

        void assertCalled() throws Exception {
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            driver.awaitThroughFailures(PATIENCE);
        }

        @Override
        public void close() {
            signal.close();
            holder.close();
            waiter.close();
        }
    }

    private long watches() throws Exception {
        return fixture.server().sum("etcd_debugging_mvcc_watcher_total", "");
    }

    @Test
    void watch_whoseStreamsAreReset_isOpenedAgain() throws Exception {
        try (Waiting waiting = new Waiting()) {
            for (int i = 0; i < 3; i++) {
                fixture.proxies().forEach(proxy -> proxy.resetAll());
            }
            await().atMost(PATIENCE).until(() -> watches() == 1);
            waiting.free();
            waiting.assertCalled();
        }
    }

    @Test
    void watch_thatIsCutOffWhileTheLockBecomesFree_rereads() throws Exception {
        try (Waiting waiting = new Waiting()) {
            fixture.partition();
            waiting.free();
            fixture.heal();
            waiting.assertCalled();
        }
    }

    /** The client before it has released, and waits again behind it: with the same key. */
    @Test
    void watch_ofAKeyThatIsUsedAgainBeforeItBegins_calls() throws Exception {
        String name = "watched-" + NAMES.incrementAndGet();
        try (LockBackend holder = fixture.newBackend();
                LockBackend backend = fixture.newBackend()) {
            Grant held = acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(backend, name, LEASE);
            waiter.queueUp();
            release(holder, held);
            BackendDriver.of(holder, name, LEASE).queueUp();
            AtomicInteger calls = new AtomicInteger();
            try (Subscription watch = backend.subscribe(waiter.ticket(), calls::incrementAndGet)) {
                await().atMost(PATIENCE).until(() -> calls.get() > 0);
                waiter.awaitThroughFailures(PATIENCE);
            }
        }
    }

    @Test
    void watch_overCompaction_goesOn() throws Exception {
        try (Waiting waiting = new Waiting()) {
            fixture.partition();
            Client admin = fixture.admin();
            long revision = 0;
            for (int i = 0; i < 10; i++) {
                revision = admin.getKVClient()
                        .put(EtcdKeys.bytes("elsewhere"), EtcdKeys.bytes("" + i))
                        .get(1, TimeUnit.MINUTES)
                        .getHeader()
                        .getRevision();
            }
            waiting.free();
            admin.getKVClient().compact(revision).get(1, TimeUnit.MINUTES);
            fixture.heal();
            waiting.assertCalled();
        }
    }

    @Test
    void watch_onANodeWithoutLeader_isOpenedAgain() throws Exception {
        try (Waiting waiting = new Waiting()) {
            fixture.server().nodes().get(0).kill();
            fixture.server().nodes().get(1).kill();
            fixture.server().nodes().get(0).start();
            fixture.server().nodes().get(1).start();
            fixture.server().awaitHealthy();
            waiting.free();
            waiting.assertCalled();
        }
    }

    @Test
    void watch_beganInACancelledContextOfTheCaller_goesOn() throws Exception {
        String name = "watched-" + NAMES.incrementAndGet();
        try (LockBackend holder = fixture.newBackend();
                LockBackend waiter = fixture.newBackend()) {
            acquire(holder, name, LEASE);
            BackendDriver driver = BackendDriver.of(waiter, name, LEASE);
            AtomicInteger calls = new AtomicInteger();
            Context.CancellableContext context = Context.current().withCancellation();
            Ticket ticket = context.call(driver::queueUp).ticket();
            Subscription subscription = context.call(() -> waiter.subscribe(ticket, calls::incrementAndGet));
            await().atMost(PATIENCE).until(() -> watches() == 1);
            context.cancel(null);
            fixture.expire(name);
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            subscription.close();
        }
    }
}
