package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.process.ProcessTree;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes with children, as PostgreSQL has them. */
@Timeout(60)
class ProcessTreeTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Process process;

    /** Starts a shell, and returns what it prints first: the id of a child. */
    private ProcessHandle start(String script) throws Exception {
        process =
                new ProcessBuilder("sh", "-c", script).redirectErrorStream(true).start();
        String pid = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))
                .readLine();
        return ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
    }

    @AfterEach
    void end() throws Exception {
        process.destroyForcibly();
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    /** Its parent is a program that never asks for the exit status of a child. */
    @Test
    void deadProcess_whoseParentDoesNotAskForIt_isGone() throws Exception {
        ProcessHandle child = start("sleep 300 & echo $!; exec sleep 300");
        assertThat(ProcessTree.isGone(child)).isFalse();
        Awaitility.await("the shell has become that program: a shell does ask")
                .atMost(PATIENCE)
                .until(() -> process.info().arguments().stream().anyMatch(each -> each.length == 1));
        child.destroyForcibly();
        Awaitility.await().atMost(PATIENCE).until(() -> ProcessTree.isGone(child));
        assertThat(child.isAlive()).as("listed still").isTrue();
    }

    @Test
    void kill_endsTheChildrenToo_alsoOfAProcessThatStandsStill() throws Exception {
        ProcessHandle child = start("sleep 300 & echo $!; wait");
        ProcessTree.stop(process.toHandle());
        ProcessTree.kill(process.toHandle());
        assertThat(process.isAlive()).isFalse();
        assertThat(ProcessTree.isGone(child)).isTrue();
    }

    /** It starts one after the other for as long as it runs. */
    @Test
    void kill_leavesNoChildThatWasBegunMeanwhile() throws Exception {
        for (int i = 0; i < 20; i++) {
            String mark = "300." + ProcessHandle.current().pid() + i;
            start("while true; do sleep " + mark + " & [ -n \"$told\" ] || { told=1; echo $!; }; done");
            ProcessTree.kill(process.toHandle());
            List<ProcessHandle> left = ProcessHandle.allProcesses()
                    .filter(each -> !ProcessTree.isGone(each))
                    .filter(each -> each.info()
                            .arguments()
                            .filter(arguments -> arguments.length == 1 && arguments[0].equals(mark))
                            .isPresent())
                    .toList();
            left.forEach(ProcessHandle::destroyForcibly);
            assertThat(left).isEmpty();
        }
    }
}
