package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The memory of a held lock: a client may hold many thousands. */
class HeldLockMemoryTest {
    private static final int LOCKS = 20_000;
    /** Name, entry, grant, hold and the user's object; 64-bit JVM with compressed references, as below 32 GB. */
    private static final long MAX_BYTES = 930;

    @Test
    void heldLock_keepsLittle() throws Exception {
        bytesPerLock(1); // loads the classes
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3 && least > MAX_BYTES; i++) { // other activity of the JVM can only add to it
            least = Math.min(least, bytesPerLock(LOCKS));
        }
        assertThat(least).as("bytes per held lock").isBetween(200L, MAX_BYTES);
    }

    private static long bytesPerLock(int locks) throws Exception {
        OutageBackend backend = new OutageBackend(false, false, System::nanoTime);
        EngineClient client = InlineBackend.client(backend, LockClientOptions.defaults());
        List<DistributedLock> held = new ArrayList<>(locks);
        for (int i = 0; i < locks; i++) { // the store's map keeps its table, which is none of ours
            backend.holders.put("held-" + i, new AcquisitionId("held-" + i, new OwnerId(1, 2)));
        }
        backend.holders.clear();
        long before = usedBytes();
        for (int i = 0; i < locks; i++) {
            DistributedLock lock = client.lock("held-" + i);
            lock.lock();
            held.add(lock);
        }
        backend.holders.clear();
        long used = usedBytes() - before;
        Reference.reachabilityFence(held);
        client.close();
        return used / locks;
    }

    /**
     * The size of all reachable objects. The heap's own figure counts whole regions of G1, of which a difference of two is 100 bytes a
     * lock. Since Java 24 the JVM stands still until jcmd has taken the whole answer, and could not read a pipe meanwhile.
     */
    private static long usedBytes() throws Exception {
        Path answer = Files.createTempFile("histogram", ".txt");
        try {
            Process jcmd = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "jcmd")
                                    .toString(),
                            Long.toString(ProcessHandle.current().pid()),
                            "GC.class_histogram")
                    .redirectErrorStream(true)
                    .redirectOutput(answer.toFile())
                    .start();
            assertThat(jcmd.waitFor()).isZero();
            String[] total = Files.readString(answer)
                    .lines()
                    .filter(line -> line.startsWith("Total "))
                    .findFirst()
                    .orElse("")
                    .strip()
                    .split("\\s+");
            assertThat(total).as("Total, instances, bytes").hasSize(3);
            return Long.parseLong(total[2]);
        } finally {
            Files.delete(answer);
        }
    }
}
