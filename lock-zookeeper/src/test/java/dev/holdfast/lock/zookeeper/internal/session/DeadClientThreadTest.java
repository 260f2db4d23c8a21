package dev.holdfast.lock.zookeeper.internal.session;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.RecordingListener;
import dev.holdfast.lock.zookeeper.ZooKeeperFixture;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One server. A thread of ZooKeeper's client ends, as by an OutOfMemoryError: the client does not start it again. */
class DeadClientThreadTest {
    private static final int SESSION_MILLIS = 4_000;
    /** More than may be made at a time. */
    private static final int ATTEMPTS = 40;

    private static ZooKeeperFixture fixture;

    /** The client's threads survive an Error, but not one that cannot be logged. */
    private static final class Unspeakable extends Error {
        private static final long serialVersionUID = 1;

        @Override
        public String toString() {
            throw this;
        }
    }

    private enum Role {
        EVENTS {
            @Override
            void end(ZooKeeper zk, CompletableFuture<Thread> thread) {
                zk.exists(
                        "/",
                        false,
                        (int rc, String path, Object context, org.apache.zookeeper.data.Stat stat) -> {
                            thread.complete(Thread.currentThread());
                            throw new Unspeakable();
                        },
                        null);
            }
        },
        SENDING {
            @Override
            void end(ZooKeeper zk, CompletableFuture<Thread> thread) {
                List<ACL> failing = new AbstractList<>() {
                    @Override
                    public ACL get(int index) {
                        Thread here = Thread.currentThread();
                        if (here.getName().contains("-SendThread")) {
                            thread.complete(here);
                            throw new Unspeakable();
                        }
                        return ZooDefs.Ids.OPEN_ACL_UNSAFE.get(0);
                    }

                    @Override
                    public int size() {
                        return 1;
                    }
                };
                zk.create(
                        "/never",
                        new byte[0],
                        failing,
                        CreateMode.PERSISTENT,
                        (int rc, String path, Object context, String name) -> {},
                        null);
            }
        };

        abstract void end(ZooKeeper zk, CompletableFuture<Thread> thread);
    }

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    @ParameterizedTest
    @EnumSource
    void threadEnds_locksAreLost_andTheNextSessionLocks(Role role) throws Exception {
        ZooKeeperLockBackend first = fixture.newBackend(SESSION_MILLIS);
        ZooKeeperLockBackend second = fixture.newBackend(SESSION_MILLIS);
        try {
            RecordingListener listener = RecordingListener.of(first);
            Grant held = acquire(first, "held by " + role);
            Session before = first.session();
            CompletableFuture<Thread> ended = new CompletableFuture<>();
            role.end(before.handle(), ended);
            ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();

            List<CompletionStage<AcquireResult>> attempts = new ArrayList<>();
            for (int i = 0; i < ATTEMPTS; i++) {
                attempts.add(first.tryAcquire(attempt("attempt " + i + " of " + role)));
            }
            await().atMost(PATIENCE).until(() -> {
                StageHelpers.ignore(first.renew(List.of(held), 1_000).toCompletableFuture());
                return !listener.lost.isEmpty();
            });

            assertThat(listener.lost).containsExactly(held.token() + " SESSION_LOST");
            Grant next = BackendDriver.of(first, "next of " + role).awaitThroughFailures(PATIENCE);
            assertThat(BackendDriver.renew(first, next)).isInstanceOf(dev.holdfast.lock.spi.RenewResult.Renewed.class);
            assertThat(first.session().id()).isNotEqualTo(before.id());
            assertThat(BackendDriver.of(second, "held by " + role)
                            .awaitThroughFailures(PATIENCE)
                            .token())
                    .isGreaterThan(held.token());
            assertThat(attempts)
                    .allSatisfy(
                            attempt -> assertThat(attempt.toCompletableFuture()).isDone());
        } finally {
            first.close();
            second.close();
        }
    }

    /** Each call for an acquisition waits for the one before. So one that has no answer must not hide that none will come. */
    @ParameterizedTest
    @EnumSource
    void threadEnds_whileAnAttemptIsUnderWay_theSameAcquisitionIsGrantedByTheNextSession(Role role) throws Exception {
        ZooKeeperLockBackend backend = fixture.newBackend(SESSION_MILLIS);
        try {
            acquire(backend, "before " + role);
            CompletableFuture<Thread> ended = new CompletableFuture<>();
            role.end(backend.session().handle(), ended);
            BackendDriver waiter = BackendDriver.of(backend, "under way of " + role);
            StageHelpers.ignore(waiter.send(BackendDriver.WAIT_MILLIS).toCompletableFuture());
            ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();

            await().atMost(PATIENCE)
                    .until(() -> waiter.send(BackendDriver.WAIT_MILLIS)
                            .toCompletableFuture()
                            .handle((answer, failure) -> answer instanceof AcquireResult.Granted)
                            .completeOnTimeout(false, 500, TimeUnit.MILLISECONDS)
                            .join());
        } finally {
            backend.close();
        }
    }

    private static AcquireRequest attempt(String name) {
        return new AcquireRequest(
                BackendDriver.newAcquisition(name), 15_000, 0, false, null, 60_000, BackendDriver.IDENTITY);
    }
}
