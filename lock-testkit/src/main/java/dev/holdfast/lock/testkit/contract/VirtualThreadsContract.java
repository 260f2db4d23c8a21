package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.support.Waits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Needs a JDK 21 or newer, and is therefore tagged {@code virtual-threads}: builds on an older one leave the tag out. The
 * classes are compiled for 17, so that virtual threads are made by reflection.
 */
@Tag("virtual-threads")
public abstract class VirtualThreadsContract extends ClientGroup {
    private static final int WAITERS = 10_000;
    private static final long WAIT_SECONDS = 60;

    public VirtualThreadsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("wait for one lock by the ten thousand without holding a carrier thread, and each gets it")
    void waiters_tenThousand_allServed() throws Exception {
        ThreadFactory virtual = virtualThreads();
        DistributedLock lock = first().lock(newName());
        int[] counter = new int[1]; // guarded by the lock under test
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(WAITERS);
        lock.lock();
        for (int i = 0; i < WAITERS; i++) {
            virtual.newThread(() -> {
                        begun.incrementAndGet();
                        try (Lease lease = lock.acquire()) {
                            counter[0] += lease.isValid() ? 1 : 0;
                        } catch (InterruptedException | RuntimeException e) {
                            failed.incrementAndGet();
                        } finally {
                            done.countDown();
                        }
                    })
                    .start();
        }
        Waits.until("all virtual threads have begun", () -> begun.get() == WAITERS);
        CountDownLatch carrierIsFree = new CountDownLatch(1);
        virtual.newThread(carrierIsFree::countDown).start();
        assertThat(carrierIsFree.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("another virtual thread runs while %d wait for the lock", WAITERS)
                .isTrue();
        assertThat(done.getCount()).as("waiters while the lock is held").isEqualTo(WAITERS);

        lock.unlock();

        assertThat(done.await(WAIT_SECONDS, TimeUnit.SECONDS))
                .as("all %d served; %d are left", WAITERS, done.getCount())
                .isTrue();
        assertThat(failed).as("waiters that failed").hasValue(0);
        assertThat(counter[0]).as("unguarded counter").isEqualTo(WAITERS);
        assertBecomesFree(lock.name());
    }

    @Test
    @DisplayName("are interrupted by the thousand while they wait, and leave nothing in the way")
    void waiters_interrupted_allLeave() throws Exception {
        ThreadFactory virtual = virtualThreads();
        DistributedLock lock = first().lock(newName());
        List<Thread> threads = new ArrayList<>();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger interrupted = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1_000);
        lock.lock();
        for (int i = 0; i < 1_000; i++) {
            Thread thread = virtual.newThread(() -> {
                begun.incrementAndGet();
                try {
                    lock.lockInterruptibly();
                    lock.unlock();
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                } finally {
                    done.countDown();
                }
            });
            threads.add(thread);
            thread.start();
        }
        Waits.until("all virtual threads have begun", () -> begun.get() == 1_000);
        threads.forEach(Thread::interrupt);

        assertThat(done.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("all have ended")
                .isTrue();
        assertThat(interrupted).as("interrupted waiters").hasValue(1_000);
        lock.unlock();
        assertBecomesFree(lock.name());
    }

    /** {@code Thread.ofVirtual().factory()}. */
    private static ThreadFactory virtualThreads() {
        try {
            Class<?> builder = Class.forName("java.lang.Thread$Builder");
            Class<?> ofVirtual = Class.forName("java.lang.Thread$Builder$OfVirtual");
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Object unstarted = lookup.findStatic(Thread.class, "ofVirtual", MethodType.methodType(ofVirtual))
                    .invoke();
            return (ThreadFactory) lookup.findVirtual(builder, "factory", MethodType.methodType(ThreadFactory.class))
                    .invoke(unstarted);
        } catch (Throwable e) {
            throw new AssertionError(
                    "no virtual threads on Java " + Runtime.version().feature()
                            + "; run the tests tagged virtual-threads on 21 or newer, or leave them out",
                    e);
        }
    }
}
