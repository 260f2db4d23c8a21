package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.support.TestSize;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Waiting in real processes, counted by the server. */
final class EtcdProcessesIT {

    @Test
    @DisplayName("Threads of several processes wait with one key and one watch a process, and a release wakes one")
    void release_withWaitersInSeveralProcesses_wakesOne(@TempDir Path folder) throws Exception {
        String name = "processes";
        int processes = TestSize.of(3, 8);
        try (EtcdFixture fixture = EtcdFixture.single();
                ChildProcesses children = new ChildProcesses(folder);
                LockClient holder = SignalOnly.connect(fixture.uri())) {
            Lease held = holder.lock(name).acquire();
            for (int i = 1; i <= processes; i++) {
                int count = i;
                // One after the other: a write between a waiter's attempt and its watch would cost one more
                // read.
                children.start("wait", fixture.uri(), name, "25");
                children.awaitUntil("key " + count, () -> fixture.entries(name) == 1 + count);
                children.awaitUntil("watch " + count, () -> watches(fixture) == count);
            }
            long txns = fixture.server().calls("Txn");
            long deletions = fixture.server().calls("DeleteRange");
            long reads = fixture.server().calls("Range");
            long events = fixture.server().sum("etcd_debugging_mvcc_events_total", "");

            held.close();
            children.awaitUntil("a grant", () -> children.lines() == 1 && watches(fixture) == processes - 1);

            assertThat(fixture.server().sum("etcd_debugging_mvcc_events_total", "") - events)
                    .as("watch events, one for each process that tracks the keys ahead")
                    .isEqualTo(processes);
            assertThat(fixture.server().calls("Txn") - txns).as("attempts").isZero();
            assertThat(fixture.server().calls("DeleteRange") - deletions)
                    .as("release")
                    .isEqualTo(1);
            assertThat(fixture.server().calls("Range") - reads).as("reads").isZero();
            assertThat(children.lines()).as("grants").isEqualTo(1);
            assertThat(fixture.entries(name)).isEqualTo(processes);
        }
    }

    private static long watches(EtcdFixture fixture) throws IOException {
        return fixture.server().sum("etcd_debugging_mvcc_watcher_total", "");
    }
}
