package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The memory of a held lock: a client may hold many thousands. */
class HeldLockMemoryTest {
    private static final int LOCKS = 20_000;
    /**
     * Name, entry, grant, hold and the user's object; 64-bit JVM with compressed references, as below 32 GB. Some 70 bytes of it are the
     * links that let a reader leave in constant time, and the transitions that others submit.
     */
    private static final long MAX_BYTES = 1_020;

    @Test
    void heldLock_keepsLittle() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3 && least > MAX_BYTES; i++) { // other activity of the JVM can only add to it
            least = Math.min(least, bytesPerLock());
        }
        assertThat(least).as("bytes per held lock").isBetween(200L, MAX_BYTES);
    }

    private static long bytesPerLock() {
        OutageBackend backend = new OutageBackend(false, false, System::nanoTime);
        EngineClient client = InlineBackend.client(backend, LockClientOptions.defaults());
        List<DistributedLock> held = new ArrayList<>(LOCKS);
        long before = usedBytes();
        for (int i = 0; i < LOCKS; i++) {
            DistributedLock lock = client.lock("held-" + i);
            lock.lock();
            held.add(lock);
        }
        backend.holders.clear();
        long used = usedBytes() - before;
        Reference.reachabilityFence(held);
        Reference.reachabilityFence(client);
        return used / LOCKS;
    }

    private static long usedBytes() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
