package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.ClientStatus;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What a count of events may rely on. */
@SuppressWarnings("CheckReturnValue") // calls that are refused have no result
public abstract class EventSumsContract extends ClientGroup {
    private static final int THREADS = 4;
    private static final int ROUNDS = 6;

    public EventSumsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName(
            "add up when threads, leases and futures contend for a lock, and the client is closed in the midst of it")
    void events_underContention_addUp() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        DistributedLock lock = own.client().lock(name);
        List<CompletableFuture<?>> done = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            int seed = thread;
            done.add(actor().start(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    contend(lock, seed + round);
                }
                return true;
            }));
        }
        for (CompletableFuture<?> each : done) {
            Actor.result(each);
        }
        Actor owner = actor();
        owner.run(lock::lock);
        CompletableFuture<Lease> waiting = lock.acquireAsync(PATIENCE);
        own.close();
        Actor.failure(waiting);

        Waits.until(
                "every event",
                () -> recorder.openAttempts(name) == 0
                        && recorder.openGrants(name).isEmpty());
        assertThat(recorder.attemptsThatDoNotAddUp(name))
                .as("attempted, acquired, gave up")
                .isEmpty();
        assertThat(recorder.grantsThatDoNotAddUp(name)).as("ends of each grant").isEmpty();
        assertThat(recorder.count("lost", name))
                .as("the lock that was held at the end")
                .isEqualTo(1);
    }

    private static void contend(DistributedLock lock, int way) throws Exception {
        switch (way % 4) {
            case 0 -> {
                lock.lock();
                lock.lock();
                lock.unlock();
                lock.unlock();
            }
            case 1 -> {
                if (lock.tryLock()) {
                    lock.unlock();
                }
            }
            case 2 -> lock.tryAcquire(Duration.ofMillis(1)).ifPresent(Lease::close);
            default -> {
                CompletableFuture<Lease> future = lock.acquireAsync(PATIENCE);
                if (!future.cancel(false)) {
                    future.join().close();
                }
            }
        }
    }

    @Test
    @DisplayName("add up when the store does not answer the release of a client that is closed")
    void events_releaseWithoutAnswer_addUp() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(400))
                .build());
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        Lease lease = own.client().lock(name).acquire();
        own.faults().always(Request.RELEASE, Fault.SILENCE);
        CompletableFuture<Boolean> releasing = actor().start(lease::close);
        Waits.untilMore(() -> own.counts().count(Request.RELEASE), 0);

        own.client().close();
        Actor.result(releasing);

        Waits.untilMore(() -> recorder.count("released", name), 0);
        assertThat(recorder.kinds(name)).containsExactly("attempted", "acquired", "released");
    }

    @Test
    @DisplayName("say how long a lock was held until it was lost")
    void lost_toldWithItsTime() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        CompletableFuture<Duration> held = new CompletableFuture<>();
        own.client().addListener(new LockListener() {
            @Override
            public void lost(String lock, long token, Duration heldFor, LossReason reason) {
                held.complete(heldFor);
            }
        });
        long beforeNanos = System.nanoTime();
        Actor owner = actor();
        owner.run(own.client().lock(name)::lock);
        own.close();
        long longestNanos = System.nanoTime() - beforeNanos;

        assertThat(held.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .isBetween(Duration.ofNanos(1), Duration.ofNanos(longestNanos));
    }

    @Test
    @DisplayName("are counted when they are dropped, and releases while they are retried")
    void status_tellsWhatIsDroppedAndPending() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(400))
                .build());
        ClientStatus atFirst = own.client().status();
        CountDownLatch busy = new CountDownLatch(1);
        own.client().addListener(new LockListener() {
            @Override
            public void attempted(String lock) {
                try {
                    busy.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        DistributedLock lock = own.client().lock(name);
        lock.lock();
        Actor other = actor();
        other.run(() -> {
            for (int i = 0; i < 5_100; i++) { // two events each
                lock.tryLock();
            }
        });
        long dropped = own.client().status().droppedEvents();
        busy.countDown();
        own.faults().always(Request.RELEASE, Fault.REFUSED);
        lock.unlock();

        assertThat(atFirst).isEqualTo(new ClientStatus(atFirst.store(), 0, 0));
        assertThat(atFirst.store()).isNotBlank();
        assertThat(dropped).as("dropped of 10,202").isBetween(1L, 202L);
        Waits.until("a release that is retried", () -> own.client().status().pendingReleases() == 1);
        own.faults().calm();
        Waits.until("nothing to be retried", () -> own.client().status().pendingReleases() == 0);
    }
}
