package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.ChildProcesses.Child;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose threads do what. */
final class EtcdThreadsIT {

    @Test
    @DisplayName("Each client has one network thread, and all goes on: nothing in it waits for an answer")
    void everything_onOneNettyThreadOfEachClient_goesOn(@TempDir Path folder) throws Exception {
        try (EtcdFixture fixture = EtcdFixture.single();
                ChildProcesses children = new ChildProcesses(folder)) {
            Child child = children.start(List.of("-Dio.netty.eventLoopThreads=1"), OneNettyThread.class, fixture.uri());
            children.awaitUntil("all to be done", () -> child.lines().contains("done"));
            System.out.println(child.lines());
            assertThat(child.lines())
                    .contains("network threads 3", "stacks that wait 0", "callbacks on network threads []")
                    .doesNotContain("samples with our code 0");
        }
    }
}
