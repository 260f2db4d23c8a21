package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.ScriptedBackend;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What the end of a client does, and in which order: without a server. */
public final class EtcdBackendCloseTest extends ScriptedBackend {
    private void awaitRevocation() {
        await().pollInterval(Duration.ofMillis(2))
                .atMost(Duration.ofSeconds(10))
                .until(() -> etcd.count("revoke") > 0);
    }

    /** What its leases hold would stay until they run out, and the connection is what ends them. */
    @Test
    void close_revokesFirst_andEndsTheConnectionThen() throws Exception {
        Grant released = granted(driver(backend), 7, 10);
        CompletionStage<ReleaseResult> release = backend.release(released, 60_000);
        etcd.next("delete").answers(ScriptedEtcd.deleted());
        BackendDriver.answer(release);
        CompletableFuture<Thread> endedOn = new CompletableFuture<>();
        AtomicBoolean finished = new AtomicBoolean();
        afterClose.set(() -> {
            endedOn.complete(Thread.currentThread());
            ScriptedEtcd.spend(30);
            finished.set(true);
        });
        FutureTask<Boolean> closed = new FutureTask<>(() -> {
            backend.close();
            return finished.get();
        });
        Thread caller = new Thread(closed, "closes");
        caller.setDaemon(false); // what it starts would be like it
        caller.start();
        awaitRevocation();
        assertThat(etcd.next("revoke").lease()).isEqualTo(7);
        assertThat(endedOn).isNotDone();

        etcd.next("revoke").answers("revoked");

        Thread closing = endedOn.get(1, TimeUnit.MINUTES);
        assertThat(closing.getName()).isEqualTo("holdfast-etcd-close");
        assertThat(closing.isDaemon()).isTrue();
        assertThat(closed.get(1, TimeUnit.MINUTES)).as("is waited for").isTrue();
    }

    /** It was to linger for its least time; what others wait with is not. */
    @Test
    void close_leavesTheLeasesOfWhatIsHeld() throws Exception {
        granted(driver(backend), 7, 10);
        BackendDriver longer = BackendDriver.of(backend, "other", 2 * LEASE);
        CompletionStage<AcquireResult> waits = longer.send(60_000);
        etcd.next("grant").answers(ScriptedEtcd.granted(8, 600, 0));
        written(11, AHEAD);
        BackendDriver.answer(waits);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(backend::close);
        awaitRevocation();
        etcd.next("revoke").answers("revoked");
        closing.get(1, TimeUnit.MINUTES);

        assertThat(etcd.requests)
                .filteredOn(request -> request.method().equals("revoke"))
                .extracting(ScriptedEtcd.Request::lease)
                .containsExactly(8L);
    }

    @Test
    void close_interrupted_continuesOnItsThread_andKeepsTheFlag() throws Exception {
        CompletableFuture<String> end = new CompletableFuture<>();
        afterClose.set(() -> end.complete("ended"));
        Thread.currentThread().interrupt();

        backend.close();

        assertThat(Thread.interrupted()).as("is left to the caller").isTrue();
        assertThat(end.get(1, TimeUnit.MINUTES)).isEqualTo("ended");
    }

    /** Idle watches of names, too. */
    @Test
    void close_endsTheWatches() throws Exception {
        granted(BackendDriver.of(backend, "other", LEASE), 7, 9);
        EtcdTicket ticket = queued(driver(backend), 10);
        backend.subscribe(ticket, () -> {}).close();
        assertThat(etcd.closedWatches).hasValue(0);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(backend::close);
        closing.get(1, TimeUnit.MINUTES);

        assertThat(etcd.closedWatches).hasValue(1);
    }
}
