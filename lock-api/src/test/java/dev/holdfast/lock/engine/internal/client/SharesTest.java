package dev.holdfast.lock.engine.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.DirectBackend;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.engine.SimStore;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Readers of one client, and which of them send requests; permits; on a simulated clock. */
class SharesTest {
    private static final long MILLI = 1_000_000;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final DirectBackend backend = new DirectBackend(world, machine);
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), machine.runtime()).start();
    private final DistributedReadWriteLock lock = client.readWriteLock("n");
    private final DistributedLock read = lock.readLock();

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    private Lease reader() {
        return read.tryAcquire().orElseThrow();
    }

    @Test
    void readers_soonAfterTheGrant_joinIt() {
        Lease first = reader();
        pass(99 * MILLI);

        Lease second = reader();

        assertThat(backend.attempts).hasSize(1);
        assertThat(second.token()).isEqualTo(first.token());
        first.close();
        assertThat(backend.released).isEmpty();
        assertThat(second.isValid()).isTrue();
        second.close();
        assertThat(backend.released).hasSize(1);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void readers_afterAWhile_haveAGrantOfTheirOwn() {
        Lease first = reader();
        pass(100 * MILLI);

        Lease second = reader();
        Lease third = reader();

        assertThat(backend.attempts).hasSize(2);
        assertThat(second.token()).isGreaterThan(first.token()).isEqualTo(third.token());
        second.close();
        third.close();
        assertThat(backend.released).extracting(Grant::token).containsExactly(2L);
        first.close();
        assertThat(backend.released).extracting(Grant::token).containsExactly(2L, 1L);
    }

    @Test
    void reader_whileAWriterWaits_standsBehindIt() {
        Lease first = reader();
        CompletableFuture<Lease> writer = lock.writeLock().acquireAsync(Duration.ofMinutes(1));
        pass(10 * MILLI);
        CompletableFuture<Lease> later = read.acquireAsync(Duration.ofMinutes(1));
        assertThat(read.tryAcquire()).as("a reader that tries once").isEmpty();
        pass(10 * MILLI);
        assertThat(later).isNotDone();

        first.close();
        pass(10 * MILLI);
        assertThat(writer).isCompleted();
        assertThat(later).isNotDone();
        writer.join().close();
        pass(10 * MILLI);

        assertThat(later.join().token()).isGreaterThan(writer.join().token());
    }

    @Test
    void readers_passAWriterOfTheirClient_forAsLongAsALockIsHandedOff() {
        Lease first = reader();
        lock.writeLock().acquireAsync(Duration.ofMinutes(1));
        pass(5 * MILLI);
        lock.writeLock().acquireAsync(Duration.ofMinutes(1));
        pass(4 * MILLI);

        assertThat(reader().token()).as("9 ms after the first writer").isEqualTo(first.token());
        pass(MILLI);
        assertThat(read.tryAcquire()).as("10 ms after the first writer").isEmpty();
    }

    @Test
    void readers_passAWriterOfTheirClient_asOftenAsALockIsHandedOff() {
        EngineClient twice = new EngineClient(
                        backend, LockClientOptions.builder().handOffLimit(2).build(), machine.runtime())
                .start();
        DistributedReadWriteLock limited = twice.readWriteLock("n");
        List<Lease> readers =
                new ArrayList<>(List.of(limited.readLock().tryAcquire().orElseThrow()));
        limited.writeLock().acquireAsync(Duration.ofMinutes(1));

        for (int i = 0; i < 2; i++) {
            readers.add(limited.readLock().tryAcquire().orElseThrow());
        }

        assertThat(limited.readLock().tryAcquire()).isEmpty();
        assertThat(readers).extracting(Lease::token).containsOnly(readers.get(0).token());
    }

    @Test
    void readers_doNotPassAWriterThatAsksForStrictOrder() {
        LockOptions fair = LockOptions.builder().fair(true).build();
        reader();
        client.lock("n", fair).acquireAsync(Duration.ofMinutes(1));

        assertThat(read.tryAcquire()).isEmpty();
    }

    @Test
    void readers_behindAWriter_comeInTogether() {
        Lease written = lock.writeLock().tryAcquire().orElseThrow();
        List<CompletableFuture<Lease>> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(read.acquireAsync(Duration.ofMinutes(1)));
        }
        long attempts = backend.attempts.size();
        written.close();
        pass(10 * MILLI);

        assertThat(readers).allMatch(CompletableFuture::isDone);
        assertThat(backend.attempts.size() - attempts).as("further attempts").isOne();
    }

    static List<LockOptions> optionsOfItsOwn() {
        return List.of(
                LockOptions.builder().fair(true).build(),
                LockOptions.builder().renewal(Renewal.NONE).build(),
                LockOptions.builder().maxHold(Duration.ofMinutes(1)).build(),
                LockOptions.builder().minHold(Duration.ofMillis(1)).build(),
                LockOptions.builder().lease(Duration.ofSeconds(59)).build());
    }

    @ParameterizedTest
    @MethodSource("optionsOfItsOwn")
    void reader_withOtherTerms_sharesWithNobody(LockOptions options) {
        DistributedLock apart = client.readWriteLock("n", options).readLock();
        reader();

        Lease own = apart.tryAcquire().orElseThrow();

        assertThat(backend.attempts).hasSize(2);
        reader();
        assertThat(backend.attempts.size()).as("attempts of a third reader").isBetween(2, 3);
        own.close();
        pass(10 * MILLI);
        assertThat(backend.released).extracting(grant -> grant.token() << 10).containsExactly(own.token());
    }

    @Test
    void thread_thatReads_joinsItsOwnGrant_whoeverWaits() {
        read.lock();
        lock.writeLock().acquireAsync(Duration.ofMinutes(1));
        pass(200 * MILLI);

        read.lock();
        Lease lease = reader();

        assertThat(backend.attempts)
                .as("attempts: one for reading, one for writing")
                .hasSize(2);
        read.unlock();
        read.unlock();
        assertThat(backend.released).isEmpty();
        lease.close();
        assertThat(backend.released).hasSize(1);
        assertThatThrownBy(read::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void thread_thatReads_mayNotWrite() {
        read.lock();

        assertThatIllegalStateException().isThrownBy(lock.writeLock()::lock);
        assertThatIllegalStateException().isThrownBy(lock.writeLock()::acquire);
        assertThat(backend.attempts).hasSize(1);
        assertThat(lock.writeLock().tryLock()).isFalse();
        read.unlock();

        lock.writeLock().lock();
        lock.writeLock().unlock();
    }

    @Test
    void thread_thatReadsInDoubt_mayNotWriteEither() {
        read.lock();
        client.entries().suspect(LockEngine.grant(read.held().orElseThrow()), "in doubt");
        assertThat(read.held().orElseThrow().isValid()).isFalse();

        assertThatIllegalStateException().isThrownBy(lock.writeLock()::lock);
    }

    /** Its machine was paused, so that its hold has not been ended yet. */
    @Test
    void thread_whoseLeaseToReadHasEnded_mayWrite() {
        read.lock();
        machine.pause(30_000 * MILLI);
        pass(20_000 * MILLI);

        lock.writeLock().lock();

        assertThat(lock.writeLock().isHeldByCurrentThread()).isTrue();
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
        lock.writeLock().unlock();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptOfALoss_staysUntilTheLastHoldHasEnded_toReadOrNot(boolean readsLast) {
        DistributedReadWriteLock interrupting = client.readWriteLock(
                "n", LockOptions.builder().interruptOnLoss(true).build());
        DistributedLock first = readsLast ? interrupting.writeLock() : interrupting.readLock();
        DistributedLock last = readsLast ? interrupting.readLock() : interrupting.writeLock();
        interrupting.writeLock().lock();
        interrupting.readLock().lock();
        client.entries()
                .lost(LockEngine.grant(interrupting.writeLock().held().orElseThrow()), LossReason.REVOKED, "gone");
        pass(1_000_000_000);

        assertThatThrownBy(first::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThatThrownBy(last::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("a stray interrupt").isFalse();
    }

    @Test
    void thread_thatWrites_readsUnderIt() {
        lock.writeLock().lock();
        read.lock();
        assertThatIllegalStateException().as("a read lease").isThrownBy(read::acquire);
        lock.writeLock().lock();
        lock.writeLock().unlock();
        lock.writeLock().unlock();

        assertThatIllegalStateException()
                .as("for writing again")
                .isThrownBy(lock.writeLock()::lock)
                .withMessageContaining("holds the read lock");
        assertThatThrownBy(lock.writeLock()::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.writeLock().isHeldByCurrentThread()).isFalse();
        assertThat(read.isHeldByCurrentThread()).isTrue();
        assertThat(backend.attempts).hasSize(1);
        assertThat(backend.released).isEmpty();
        read.unlock();
        assertThat(backend.released).hasSize(1);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void thread_thatEndsToReadFirst_goesOnToWrite() {
        lock.writeLock().lock();
        read.lock();
        read.unlock();

        assertThatThrownBy(read::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.writeLock().isHeldByCurrentThread()).isTrue();
        assertThat(backend.released).isEmpty();
        lock.writeLock().unlock();
        assertThat(backend.released).hasSize(1);
    }

    @Test
    void loss_endsAllHolds_eachOnce() {
        List<String> reported = new ArrayList<>();
        client.addListener(new LockListener() {
            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                reported.add("lost");
            }

            @Override
            public void renewed(String name, long token) {
                reported.add("renewed");
            }
        });
        read.lock();
        Lease lease = reader();
        pass(11_000 * MILLI); // two renewals, one after each third of the lease
        backend.store.revoke("n");
        pass(30_000 * MILLI);

        assertThat(lease.isValid()).isFalse();
        assertThatThrownBy(read::lock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        assertThat(reader().isValid()).as("a new reader").isTrue();
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(reported.stream().filter("lost"::equals)).hasSize(2);
        assertThat(reported.indexOf("lost"))
                .as("renewals before the loss, each reported once")
                .isEqualTo(2);
    }

    @Test
    void reader_thatAsksOnce_takesTheAnswerThatItsClientWaitsFor() {
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        backend.answers.add(answer);
        CompletableFuture<Lease> first = read.acquireAsync(Duration.ofMinutes(1));
        CompletableFuture<Lease> once = read.acquireAsync(Duration.ZERO);
        pass(MILLI);
        assertThat(once).isNotDone();

        AcquisitionId asked = backend.attempts.get(0).acquisition();
        answer.complete(new AcquireResult.Granted(new Grant(asked, 7, 15_000, null)));
        pass(MILLI);

        assertThat(once.join().token()).isEqualTo(first.join().token());
        assertThat(backend.attempts).hasSize(1);
    }

    @Test
    void reader_thatAsksOnce_isToldBusyWithTheOthersWhoWait() {
        lock.writeLock().tryAcquire().orElseThrow();
        CompletableFuture<Lease> waits = read.acquireAsync(Duration.ofMinutes(1));
        int attempts = backend.attempts.size();

        assertThat(read.tryAcquire()).isEmpty();

        assertThat(backend.attempts)
                .as("no attempt: the lock is busy in this client")
                .hasSize(attempts);
        assertThat(waits).isNotDone();
    }

    @Test
    void permits_haveAGrantEach() {
        List<Lease> permits = new ArrayList<>();
        for (int i = 0; i < SimStore.LIMIT; i++) {
            permits.add(client.semaphore("s", SimStore.LIMIT).tryAcquire().orElseThrow());
        }
        assertThat(client.semaphore("s", SimStore.LIMIT).tryAcquire()).isEmpty();
        assertThat(backend.attempts).hasSize(SimStore.LIMIT + 1);
        assertThat(client.held())
                .singleElement()
                .satisfies(usage -> assertThat(usage.holders())
                        .extracting(LockUsage.Holder::token)
                        .isEqualTo(permits.stream().map(Lease::token).toList()));

        permits.forEach(Lease::close);

        assertThat(backend.released).extracting(Grant::slot).containsExactly(1, 2, 3);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void otherLimit_isTold_andNothingIsCleanedUp() {
        backend.answers.add(CompletableFuture.completedStage(new AcquireResult.OtherLimit(9)));

        assertThatThrownBy(() -> client.semaphore("s", 5).tryAcquire(2))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("'s'")
                .hasMessageContaining("2 of 5")
                .hasMessageContaining("9");

        pass(MILLI);
        assertThat(backend.abandoned).isEmpty();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void otherLimit_toldToOneThatWaitsInLine_leavesNothingToBeCleanedUp() {
        Permit first =
                client.semaphore("s", SimStore.LIMIT).tryAcquire(SimStore.LIMIT).orElseThrow();
        CompletableFuture<Permit> second = client.semaphore("s", SimStore.LIMIT).acquireAsync(1, Duration.ofMinutes(1));
        pass(MILLI);
        backend.answers.add(CompletableFuture.completedStage(new AcquireResult.OtherLimit(9)));
        first.close();
        pass(MILLI);

        assertThat(second).isCompletedExceptionally();
        assertThat(backend.abandoned).isEmpty();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void releases_ofReadersWhoShareAGrant_areEachToldWhenTheyEnd() {
        List<Long> reported = new ArrayList<>();
        client.addListener(new LockListener() {
            @Override
            public void released(String name, long token, Duration held) {
                reported.add(held.toMillis());
            }
        });
        Lease first = reader();
        pass(10 * MILLI);
        Lease second = reader();
        pass(10 * MILLI);
        first.close();
        pass(10 * MILLI);
        assertThat(reported).containsExactly(20L);
        second.close();
        pass(MILLI);
        assertThat(reported).containsExactly(20L, 20L);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0 1 2", "1 0 2", "1 2 0", "2 1 0"})
    void readers_endInAnyOrder_andTheLastOneReleases(String order) {
        List<Lease> readers = List.of(reader(), reader(), reader());
        String[] steps = order.split(" ");
        for (int i = 0; i < 3; i++) {
            assertThat(backend.released).isEmpty();
            assertThat(client.held().get(0).holders()).hasSize(3 - i);
            readers.get(Integer.parseInt(steps[i])).close();
        }
        assertThat(backend.released).hasSize(1);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void readerWhoseThreadHasEnded_losesItsHold_andTheOthersKeepTheGrant() throws InterruptedException {
        List<String> reported = new ArrayList<>();
        client.addListener(new LockListener() {
            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                reported.add(name + " " + reason);
            }
        });
        Thread dead = new Thread(read::lock);
        dead.start();
        dead.join();
        Lease alive = reader();
        assertThat(client.held().get(0).holders()).hasSize(2);
        pass(40_000 * MILLI);
        assertThat(reported).containsExactly("n OWNER_DIED");
        assertThat(client.held().get(0).holders()).hasSize(1);
        assertThat(alive.isValid()).isTrue();
        alive.close();
        assertThat(backend.released).hasSize(1);
    }

    @Test
    void waiter_isBroughtToTheGenerationOfItsThread_orToALaterOne() {
        read.lock();
        LockEntry own = client.entries().findReader("n", Thread.currentThread());
        assertThat(own).isNotNull();
        ThreadWaiter again = new ThreadWaiter(LockOptions.defaults(), false, 0, machine.nanos());
        assertThat(client.entries().read("n", again)).isSameAs(own);
        assertThat(again.state).isEqualTo(Waiter.State.GRANTED);
        pass(100 * MILLI);
        AsyncWaiter later = InlineBackend.waiter(0);
        LockEntry other = client.entries().read("n", later);
        assertThat(other).isNotNull().isNotSameAs(own);
        assertThat(later.state).isEqualTo(Waiter.State.GRANTED);
        ThreadWaiter third = new ThreadWaiter(LockOptions.defaults(), false, 0, machine.nanos());
        assertThat(client.entries().read("n", third)).as("not the latest").isSameAs(own);
        assertThat(third.state).isEqualTo(Waiter.State.GRANTED);
        LockOptions alone = LockOptions.builder().renewal(Renewal.NONE).build();
        ThreadWaiter apart = new ThreadWaiter(alone, true, 0, machine.nanos());
        assertThat(client.entries().read("n", apart))
                .isNotNull()
                .isNotSameAs(own)
                .isNotSameAs(other);
    }

    @Test
    void news_ofAGrant_findItsReaders() {
        Lease lease = reader();
        Grant grant = LockEngine.grant(lease);
        assertThat(grant.demand()).isEqualTo(Demand.SHARED);
        CompletableFuture<LossReason> lost = lease.lost().toCompletableFuture();

        client.entries().suspect(grant, "in doubt");
        assertThat(lease.isValid()).isFalse();
        client.entries().lost(grant, LossReason.REVOKED, "gone");
        pass(MILLI);

        assertThat(lost).isCompletedWithValue(LossReason.REVOKED);
    }

    @Test
    void client_thatCloses_endsAllReaders() {
        Lease lease = reader();
        read.lock();
        client.beginClose();
        pass(MILLI);

        assertThat(lease.isValid()).isFalse();
        assertThat(backend.released).hasSize(1);
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void waiter_isBroughtToTheLockThatItsThreadHasAlone_orToThatBesideTheReaders() {
        client.lock("alone").lock();
        ThreadWaiter within = new ThreadWaiter(LockOptions.defaults(), false, 0, machine.nanos());
        assertThat(client.entries().read("alone", within))
                .isNotNull()
                .isSameAs(client.entries().find("alone"));
        assertThat(within.state).isEqualTo(Waiter.State.GRANTED);

        Lease reader = reader();
        AsyncWaiter writer = InlineBackend.waiter(Waiter.FOREVER);
        assertThat(client.entries().submit("n", writer))
                .isNotNull()
                .isSameAs(client.entries().find("n"));
        assertThat(writer.state).isEqualTo(Waiter.State.WAITING);
        reader.close();
    }
}
