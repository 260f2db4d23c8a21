package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.backend.BackendSharesContract;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.SharedBook;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.DisplayName;

/** Readers and writers of clients. Who may hold what at once is tested of the backend ({@link BackendSharesContract}) as well. */
public abstract class ReadWriteContract extends ClientGroup {
    private static final LockOptions FAIR = LockOptions.builder().fair(true).build();
    private static final Duration SOON = Duration.ofSeconds(10);

    public ReadWriteContract(ContractContext context) {
        super(context);
    }

    private static DistributedLock reading(LockClient client, String name) {
        return client.readWriteLock(name).readLock();
    }

    @TestIf(Need.NO_SHARED)
    @DisplayName("is refused at once where the store has none, in words that say so")
    void factory_withoutShares_refuses() {
        String name = newName();

        assertThatThrownBy(() -> first().readWriteLock(name))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("read lock")
                .hasMessageContaining(context.firstBackend().info().name());
    }

    @TestIf(Need.SHARED)
    @DisplayName("lets readers of all clients in at once, and a writer after the last of them")
    void readers_atOnce_thenWriter() throws Exception {
        String name = newName();
        DistributedReadWriteLock one = first().readWriteLock(name);
        DistributedReadWriteLock two = second().readWriteLock(name);
        one.readLock().lock();
        two.readLock().lock();
        Actor other = actor();

        assertThat((boolean) other.call(() -> two.writeLock().tryLock()))
                .as("a writer beside readers")
                .isFalse();
        one.readLock().unlock();
        assertThat((boolean) other.call(() -> two.writeLock().tryLock()))
                .as("a writer beside a reader")
                .isFalse();
        two.readLock().unlock();

        assertThat((boolean) other.call(() -> two.writeLock().tryLock(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)))
                .isTrue();
        assertThat(one.readLock().tryLock()).as("a reader beside a writer").isFalse();
        other.run(two.writeLock()::unlock);
    }

    @TestIf(Need.SHARED)
    @DisplayName("has the lock of its name as write lock")
    void writeLock_isTheLock() throws Exception {
        String name = newName();
        first().lock(name).lock();

        assertThat(first().readWriteLock(name).writeLock().isHeldByCurrentThread())
                .isTrue();
        assertThat(reading(second(), name).tryAcquire()).isEmpty();
        first().readWriteLock(name).writeLock().unlock();

        try (Lease read = reading(second(), name).acquire(PATIENCE)) {
            assertThat(first().lock(name).tryAcquire()).isEmpty();
            assertThat(read.name()).isEqualTo(name);
        }
    }

    @TestIf(Need.SHARED)
    @DisplayName(
            "costs a reader one request to acquire and one to release, and every further reader of its client none")
    void readers_ofOneClient_shareAGrant() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        LockOptions longLease =
                LockOptions.builder().lease(Duration.ofMinutes(10)).build();
        DistributedLock read = own.client().readWriteLock(name, longLease).readLock();

        read.lock();
        read.lock();
        read.unlock();
        List<Lease> more = List.of(
                read.acquire(),
                actor().call(() -> read.acquire()),
                read.tryAcquire().orElseThrow());

        assertThat(more)
                .extracting(Lease::token)
                .containsOnly(read.held().orElseThrow().token());
        more.forEach(Lease::close);
        assertThat(own.counts().count(Request.RELEASE, name))
                .as("releases while one reads")
                .isZero();
        read.unlock();
        assertThat(own.counts().count(Request.ATTEMPT, name)).as("attempts").isOne();
        assertThat(own.counts().count(Request.RELEASE, name)).as("releases").isOne();
        assertThatThrownBy(read::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @TestIf({Need.SHARED, Need.FIFO})
    @DisplayName("lets a waiting writer go before readers who come later, of its own client and of others")
    void writer_waits_goesBeforeLaterReaders() throws Exception {
        String name = newName();
        Lease held = reading(first(), name).acquire();
        CompletableFuture<Lease> writer = second().lock(name).acquireAsync(PATIENCE);
        Waits.until("the writer waits", () -> context.secondClient().counts().busyAcquisitions(name) > 0);
        CompletableFuture<Lease> sameClient =
                second().readWriteLock(name, FAIR).readLock().acquireAsync(PATIENCE);
        CompletableFuture<Lease> otherClient =
                first().readWriteLock(name, FAIR).readLock().acquireAsync(PATIENCE);
        Waits.until("a reader waits", () -> context.firstClient().counts().busyAcquisitions(name) > 0);
        Waits.until("both wait", () -> context.secondClient().counts().busyAcquisitions(name) > 1);
        assertThat(otherClient).isNotDone();

        held.close();
        Lease written = Actor.result(writer);
        assertThat(sameClient).isNotDone();
        assertThat(otherClient).isNotDone();
        written.close();

        assertThat(Actor.result(sameClient).token()).isGreaterThan(written.token());
        Actor.result(sameClient).close();
        Actor.result(otherClient).close();
    }

    @TestIf(Need.SHARED)
    @DisplayName("lets a thread that reads read again, though a writer of its own client waits")
    void reentry_whileWriterWaits() throws Exception {
        String name = newName();
        DistributedReadWriteLock lock = first().readWriteLock(name);
        lock.readLock().lock();
        CompletableFuture<Lease> writer = lock.writeLock().acquireAsync(PATIENCE);
        Waits.until("the writer waits", () -> context.firstClient().counts().busyAcquisitions(name) > 0);

        lock.readLock().lock();
        try (Lease lease = lock.readLock().acquire(PATIENCE)) {
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(lock.readLock().tryLock()).isTrue();
        for (int i = 0; i < 3; i++) {
            assertThat(writer).isNotDone();
            lock.readLock().unlock();
        }

        Actor.result(writer).close();
    }

    @TestIf(Need.SHARED)
    @DisplayName("refuses a thread that reads and asks to write, at once and without a request")
    void upgrade_isRefused() throws Exception {
        String name = newName();
        DistributedReadWriteLock lock = first().readWriteLock(name);
        lock.readLock().lock();
        long attempts = firstCounts().count(Request.ATTEMPT, name);

        assertThatIllegalStateException().isThrownBy(lock.writeLock()::lock).withMessageContaining(name);
        assertThatIllegalStateException().isThrownBy(lock.writeLock()::lockInterruptibly);
        assertThatIllegalStateException().isThrownBy(() -> lock.writeLock().tryLock(1, TimeUnit.MINUTES));
        assertThatIllegalStateException().isThrownBy(() -> first().lock(name).acquire());
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(attempts);
        assertThat(lock.writeLock().tryLock())
                .as("tryLock() to write while reading")
                .isFalse();
        assertThat(lock.readLock().isHeldByCurrentThread()).isTrue();
        assertThat(lock.writeLock().isHeldByCurrentThread()).isFalse();
        lock.readLock().unlock();

        assertThat(lock.writeLock().tryLock(PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        lock.writeLock().unlock();
    }

    @TestIf(Need.SHARED)
    @DisplayName("lets a thread that writes read, and go on reading without another writer in between")
    void downgrade_keepsOthersOut() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        DistributedReadWriteLock lock = own.client().readWriteLock(name);
        lock.writeLock().lock();
        long token = lock.writeLock().held().orElseThrow().token();
        CompletableFuture<Lease> writer = second().lock(name).acquireAsync(PATIENCE);
        Waits.until("the writer waits", () -> context.secondClient().counts().busyAcquisitions(name) > 0);

        lock.readLock().lock();
        lock.readLock().lock();
        lock.writeLock().unlock();

        assertThat(lock.writeLock().isHeldByCurrentThread()).isFalse();
        assertThat(lock.writeLock().held()).isEmpty();
        assertThatThrownBy(lock.writeLock()::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatIllegalStateException().isThrownBy(lock.writeLock()::lock);
        assertThat(lock.readLock().isHeldByCurrentThread()).isTrue();
        assertThat(lock.readLock().held().orElseThrow().token()).isEqualTo(token);
        assertThat(own.counts().count(Request.ATTEMPT, name)).as("attempts").isOne();
        lock.readLock().unlock();
        assertThat(writer).as("a writer while the thread reads").isNotDone();
        lock.readLock().unlock();
        assertThatThrownBy(lock.readLock()::unlock).isInstanceOf(IllegalMonitorStateException.class);

        try (Lease next = Actor.result(writer)) {
            assertThat(next.token()).isGreaterThan(token);
        }
        assertThat(own.counts().count(Request.RELEASE, name)).as("releases").isOne();
    }

    @TestIf(Need.SHARED)
    @DisplayName("lets a writer in, however many readers come and go, and a reader, however many writers")
    void load_starvesNobody() throws Exception {
        String name = newName();
        AtomicBoolean enough = new AtomicBoolean();
        List<CompletableFuture<Boolean>> readers = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(4);
        for (LockClient client : List.of(first(), first(), second(), second())) {
            readers.add(actor().start(() -> repeat(reading(client, name), begun, enough)));
        }
        assertThat(begun.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        actor().call(() -> first().lock(name).acquire(PATIENCE)).close();
        actor().call(() -> second().lock(name).acquire(PATIENCE)).close();
        enough.set(true);
        for (CompletableFuture<Boolean> reader : readers) {
            Actor.result(reader);
        }

        enough.set(false);
        CountDownLatch writing = new CountDownLatch(2);
        CompletableFuture<Boolean> one = actor().start(() -> repeat(first().lock(name), writing, enough));
        CompletableFuture<Boolean> two = actor().start(() -> repeat(second().lock(name), writing, enough));
        assertThat(writing.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        actor().call(() -> reading(first(), name).acquire(PATIENCE)).close();
        enough.set(true);
        Actor.result(one);
        Actor.result(two);
    }

    private static void repeat(DistributedLock lock, CountDownLatch begun, AtomicBoolean enough) throws Exception {
        boolean first = true;
        while (!enough.get()) {
            assertThat(lock.tryLock(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
            if (first) {
                begun.countDown();
                first = false;
            }
            Thread.yield();
            lock.unlock();
        }
    }

    @TestIf({Need.SHARED, Need.LAPSE})
    @DisplayName("lets a writer in when the lease of a reader that died has ended")
    void reader_dies_writerComesIn() throws Exception {
        String name = newName();
        Lease dead = client(ContractContext.clientOptions().build())
                .client()
                .readWriteLock(name, shortLease(Renewal.NONE))
                .readLock()
                .acquire();

        try (Lease written = second().lock(name).acquire(PATIENCE)) {
            assertThat(written.token()).isGreaterThan(dead.token());
            assertThat(dead.isValid()).isFalse();
        }
        assertThatThrownBy(dead::close).isInstanceOf(LeaseLostException.class);
    }

    @TestIf(Need.SHARED)
    @DisplayName("does not keep the share of a thread that died for as long as others read")
    void readingThread_dies_othersReadOn() throws Exception {
        withGrowingLease(this::othersReadOn);
    }

    private void othersReadOn(Duration leaseLength) throws Exception {
        String name = newName();
        DistributedLock read =
                first().readWriteLock(name, leaseOf(leaseLength, Renewal.AUTO)).readLock();
        try (Lease alive = read.acquire()) {
            Actor dying = actor();
            dying.run(read::lock);
            dying.end();
            Waits.until(
                    "the dead reader is dropped", () -> holders(first(), name).size() == 1 || !alive.isValid());
            assertThat(alive.isValid()).isTrue();
        }
        assertThat(second().lock(name).tryAcquire(PATIENCE))
                .as("a writer")
                .isPresent()
                .get()
                .satisfies(Lease::close);
    }

    private static List<LockUsage.Holder> holders(LockClient client, String name) {
        return client.held().stream()
                .filter(usage -> usage.name().equals(name))
                .flatMap(usage -> usage.holders().stream())
                .toList();
    }

    @TestIf({Need.SHARED, Need.EXPIRE})
    @DisplayName("tells every reader of a lost share, by lease and by lock")
    void loss_isToldToAllReaders() throws Exception {
        String name = newName();
        DistributedLock read =
                first().readWriteLock(name, shortLease(Renewal.AUTO)).readLock();
        read.lock();
        Lease lease = read.acquire();
        fixture().expire(name);

        awaitLoss(lease);
        awaitLoss(read.held().orElseThrow());
        assertThat(read.isHeldByCurrentThread()).as("a hold to unlock").isTrue();
        assertThatThrownBy(read::lock).as("re-entry").isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        actor().call(() -> reading(first(), name).acquire(PATIENCE)).close();
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(read::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertBecomesFree(name);
    }

    @TestIf({Need.SHARED, Need.EXPIRE})
    @DisplayName("tells a thread of the loss of its write lock when it ends to read under it")
    void loss_ofDowngraded_isTold() throws Exception {
        String name = newName();
        DistributedReadWriteLock lock = first().readWriteLock(name, shortLease(Renewal.AUTO));
        lock.writeLock().lock();
        lock.readLock().lock();
        lock.writeLock().unlock();
        Lease held = lock.readLock().held().orElseThrow();
        fixture().expire(name);
        awaitLoss(held);

        assertThatThrownBy(lock.readLock()::lock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock.readLock()::unlock).isInstanceOf(LeaseLostException.class);
        lock.readLock().lock();
        lock.readLock().unlock();
    }

    @TestIf(Need.SHARED)
    @DisplayName("leaves the way free when a reader that waits is cancelled, interrupted or out of time")
    void reader_givesUp_leavesWayFree() throws Exception {
        String name = newName();
        Lease written = second().lock(name).acquire();
        DistributedLock read = reading(first(), name);
        CompletableFuture<Lease> cancelled = read.acquireAsync(PATIENCE);
        Actor actor = actor();
        CompletableFuture<Boolean> interrupted = actor.start(read::lockInterruptibly);
        Waits.until("readers wait", () -> firstCounts().busyAcquisitions(name) > 0);
        actor.awaitBlocked();

        assertThat(read.tryAcquire(Duration.ofMillis(20))).isEmpty();
        assertThat(read.tryLock()).isFalse();
        cancelled.cancel(false);
        actor.interrupt();
        assertThat(Actor.failure(interrupted)).isInstanceOf(InterruptedException.class);
        written.close();

        assertBecomesFree(name, SOON);
    }

    @TestIf(Need.SHARED)
    @DisplayName("survives lost and repeated replies to readers' requests, and leaves nothing")
    void lostReplies_leaveNothing() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        DistributedLock read = own.client().readWriteLock(name).readLock();
        own.faults().once(Request.ATTEMPT, Fault.LOST_REPLY);
        own.faults().once(Request.ATTEMPT, Fault.DUPLICATE);
        own.faults().once(Request.RELEASE, Fault.REFUSED);
        read.acquire(SOON).close();
        assertBecomesFree(name, SOON);

        own.faults().once(Request.ATTEMPT, Fault.DUPLICATE);
        own.faults().once(Request.RELEASE, Fault.DUPLICATE);
        read.acquire(SOON).close();
        assertBecomesFree(name, SOON);
    }

    @TestIf(Need.SHARED)
    @DisplayName("is given back by all readers of a client that is closed")
    void close_givesBack() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        DistributedLock read = reading(own.client(), name);
        Lease one = read.acquire();
        read.lock();
        own.close();

        assertThat(one.isValid()).isFalse();
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
        assertBecomesFree(name, SOON);
    }

    @TestIf(Need.SHARED)
    @DisplayName("is told to listeners and operators: who reads here, who anywhere, and one end for each beginning")
    void readers_areTold() throws Exception {
        String name = newName();
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        DistributedLock read = reading(first(), name);
        Lease one = read.acquire();
        read.lock();
        read.lock();
        Lease other = reading(second(), name).acquire();

        assertThat(holders(first(), name))
                .hasSize(2)
                .allMatch(holder -> holder.demand().equals(Demand.SHARED));
        assertThat(first().holders(name))
                .extracting(HolderInfo::token, HolderInfo::demand)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(one.token(), Demand.SHARED),
                        org.assertj.core.groups.Tuple.tuple(other.token(), Demand.SHARED));
        CompletableFuture<Lease> writer = second().lock(name).acquireAsync(PATIENCE);
        other.close();
        read.unlock();
        read.unlock();
        one.close();
        Actor.result(writer).close();

        Waits.until("two ends are told", () -> recorder.count("released", name) == 2);
        assertThat(recorder.count("attempted", name)).isEqualTo(2);
        assertThat(recorder.count("acquired", name)).isEqualTo(2);
    }

    @TestIf(Need.SHARED)
    @DisplayName("never lets a writer in beside anybody, and every token passes a resource that checks it")
    void load_isSafe() throws Exception {
        String name = newName();
        SharedBook book = new SharedBook(1);
        long seed = System.nanoTime();
        List<CompletableFuture<Boolean>> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            DistributedReadWriteLock lock = (i % 2 == 0 ? first() : second()).readWriteLock(name);
            Random random = new Random(seed + i);
            threads.add(actor().start(() -> use(lock, book, random)));
        }
        for (CompletableFuture<Boolean> thread : threads) {
            thread.get(3 * PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }

        assertThat(book.violations()).as("seed %d", seed).isEmpty();
        assertBecomesFree(name);
    }

    private static void use(DistributedReadWriteLock lock, SharedBook book, Random random) throws Exception {
        for (int i = 0; i < 15; i++) {
            if (random.nextInt(4) > 0) {
                try (Lease lease = lock.readLock().acquire(PATIENCE.multipliedBy(2))) {
                    book.beginRead(lease.token());
                    Thread.yield();
                    book.endRead();
                }
            } else {
                lock.writeLock().lock();
                long token = lock.writeLock().held().orElseThrow().token();
                book.beginWrite(token);
                lock.readLock().lock();
                book.endWrite();
                lock.writeLock().unlock();
                book.beginRead(token);
                Thread.yield();
                book.endRead();
                lock.readLock().unlock();
            }
        }
    }
}
