package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class ContentionContract extends ClientGroup {
    private static final int THREADS = 4;
    private static final int ROUNDS = 25;

    public ContentionContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("of threads of two clients loses no update of an unguarded counter, and tokens rise with it")
    void contention_counter_losesNothing() throws Exception {
        String name = newName();
        HistoryChecker history = new HistoryChecker();
        int[] counter = new int[1]; // guarded by the lock under test
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        for (int i = 0; i < 2 * THREADS; i++) {
            LockClient client = i % 2 == 0 ? first() : second();
            runs.add(actor().start(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    try (Lease lease = client.lock(name).acquire()) {
                        HistoryChecker.Claim claim = history.acquired(lease);
                        int seen = counter[0];
                        Thread.yield();
                        counter[0] = seen + 1;
                        claim.confirm();
                    }
                }
            }));
        }
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }

        assertThat(history.violations()).isEmpty();
        assertThat(counter[0]).as("counter").isEqualTo(2 * THREADS * ROUNDS);
        assertThat(history.confirmedClaims()).isEqualTo(2L * THREADS * ROUNDS);
    }

    @Test
    @DisplayName("of threads of one client serves them in the order in which they came")
    void contention_oneClient_isFifo() throws Exception {
        DistributedLock lock = first().lock(newName());
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        lock.lock();
        for (int i = 0; i < 6; i++) {
            int number = i;
            Actor actor = actor();
            runs.add(actor.start(() -> {
                lock.lock();
                served.add(number);
                lock.unlock();
            }));
            actor.awaitBlocked();
        }
        lock.unlock();
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }

        assertThat(served).containsExactly(0, 1, 2, 3, 4, 5);
    }

    @TestIf(Need.FIFO)
    @DisplayName("of fair clients serves them in the order in which they came")
    void contention_fairClients_isFifo() throws Exception {
        String name = newName();
        LockOptions fair = LockOptions.builder().fair(true).build();
        List<CountedClient> clients = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            clients.add(client(ContractContext.clientOptions().build()));
        }
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        Lease held = second().lock(name).acquire();
        for (int i = 0; i < 3; i++) {
            int number = i;
            CountedClient client = clients.get(i);
            runs.add(actor().start(() -> {
                try (Lease lease = client.client().lock(name, fair).acquire()) {
                    assertThat(lease.isValid()).isTrue();
                    served.add(number);
                }
            }));
            Waits.until(
                    "client " + i + " is in the queue", () -> client.counts().busyAcquisitions(name) > 0);
        }
        held.close();
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }

        assertThat(served).containsExactly(0, 1, 2);
    }

    @Test
    @DisplayName("of two clients in turn loses no wake-up")
    void contention_pingPong_losesNoWakeUp() throws Exception {
        String name = newName();
        AtomicInteger passes = new AtomicInteger();
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        for (LockClient client : List.of(first(), second())) {
            runs.add(actor().start(() -> {
                for (int i = 0; i < 40; i++) {
                    client.lock(name).lock();
                    passes.incrementAndGet();
                    client.lock(name).unlock();
                }
            }));
        }
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }

        assertThat(passes).hasValue(80);
    }

    @Test
    @DisplayName("within one client does not starve another one")
    void contention_busyClient_doesNotStarveOther() throws Exception {
        String name = newName();
        AtomicBoolean stop = new AtomicBoolean();
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            runs.add(actor().start(() -> {
                while (!stop.get()) {
                    first().lock(name).lock();
                    Thread.yield();
                    first().lock(name).unlock();
                }
            }));
        }
        try {
            Waits.untilMore(() -> firstCounts().count(Request.ATTEMPT, name), 0);
            for (int i = 0; i < 3; i++) {
                try (Lease lease = second().lock(name).acquire(PATIENCE)) {
                    assertThat(lease.isValid())
                            .as("turn %d of the other client", i)
                            .isTrue();
                }
            }
        } finally {
            stop.set(true);
            for (CompletableFuture<Boolean> run : runs) {
                Actor.result(run);
            }
        }
    }

    @Test
    @DisplayName("within one client hands the lock on without asking the server each time")
    void contention_oneClient_handsOff() throws Exception {
        // On a busy machine, waking a thread takes longer than the usual time of a hand-off.
        CountedClient own = client(ContractContext.clientOptions()
                .handOffTime(Duration.ofSeconds(1))
                .build());
        DistributedLock lock = own.client().lock(newName());
        Lease first = lock.acquire();
        List<CompletableFuture<Lease>> waiting = new ArrayList<>();
        List<CompletableFuture<Boolean>> locking = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            waiting.add(lock.acquireAsync(PATIENCE));
            Actor actor = actor();
            locking.add(actor.start(() -> {
                lock.lock();
                lock.unlock();
            }));
            actor.awaitBlocked();
        }
        first.close();
        for (CompletableFuture<Lease> next : waiting) {
            Actor.result(next).close();
        }
        for (CompletableFuture<Boolean> each : locking) {
            Actor.result(each);
        }

        // More than one if the machine pauses for longer than a lock may be handed on.
        assertThat(own.counts().count(Request.ATTEMPT))
                .as("attempts for %d acquisitions", 1 + 2 * THREADS)
                .isLessThan(THREADS);
    }

    @Test
    @DisplayName("with hand-off disabled asks the server each time")
    void contention_noHandOff_asksEachTime() throws Exception {
        LockClientOptions options =
                ContractContext.clientOptions().handOffLimit(0).build();
        CountedClient own = client(options);
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        String name = newName();
        long acquisitions = contend(own, name);

        assertThat(own.counts().count(Request.ATTEMPT))
                .as("attempts for %d acquisitions", acquisitions)
                .isGreaterThanOrEqualTo(acquisitions);
        Waits.until("all events", () -> recorder.count("acquired", name) == acquisitions);
        assertThat(recorder.of(name)).noneMatch(event -> event.detail().startsWith("handed off"));
    }

    private long contend(CountedClient client, String name) throws Exception {
        int rounds = 10;
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            runs.add(actor().start(() -> {
                for (int round = 0; round < rounds; round++) {
                    try (Lease lease = client.client().lock(name).acquire()) {
                        assertThat(lease.isValid()).isTrue();
                        Thread.yield();
                    }
                }
            }));
        }
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }
        return (long) THREADS * rounds;
    }
}
