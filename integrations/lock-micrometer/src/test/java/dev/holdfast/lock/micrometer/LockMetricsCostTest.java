package dev.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.management.ThreadMXBean;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryLockBackend;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.Request;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** What the meters cost the threads that lock, and the store. */
class LockMetricsCostTest {
    private static final int PAIRS = 2_000;
    /** Three events a pair: an object each for the event, the task and the queue's node, and what they carry. */
    private static final long MAX_BYTES_A_PAIR = 600;

    private final CountingBackend counts = new CountingBackend(new MemoryLockBackend(MemoryStore.create()));
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private long bytesAPair(DistributedLock lock) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < PAIRS; i++) {
            lock.lock();
            lock.unlock();
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / PAIRS;
    }

    private long requests() {
        return Arrays.stream(Request.values()).mapToLong(counts::count).sum();
    }

    @Test
    void meters_sendNoRequest_andLeaveLittleToTheThreadThatLocks() {
        try (LockClient client = LockEngine.client(counts, LockClientOptions.defaults())) {
            DistributedLock lock = client.lock("orders/1");
            bytesAPair(lock); // what is allocated once
            long requestsBefore = requests();
            long bare = bytesAPair(lock);
            long requestsBare = requests() - requestsBefore;
            Set<Thread> metering = ConcurrentHashMap.newKeySet();
            LockMetrics.builder(client)
                    .lockTag(name -> {
                        metering.add(Thread.currentThread());
                        return "orders";
                    })
                    .build()
                    .bindTo(registry);
            bytesAPair(lock);
            awaitHolds(PAIRS);
            requestsBefore = requests();
            long metered = bytesAPair(lock);
            awaitHolds(2 * PAIRS);

            assertThat(requests() - requestsBefore)
                    .as("requests of %s pairs", PAIRS)
                    .isEqualTo(requestsBare);
            assertThat(metered - bare).as("bytes a pair in addition to %s", bare).isLessThanOrEqualTo(MAX_BYTES_A_PAIR);
            assertThat(metering).as("threads that touch meters").doesNotContain(Thread.currentThread());
            assertThat(client.status().droppedEvents()).isZero();
        }
    }

    private void awaitHolds(long holds) {
        await().atMost(Duration.ofSeconds(20)).until(() -> {
            Timer timer = registry.find("holdfast.lock.hold").timer();
            return timer != null && timer.count() == holds;
        });
    }
}
