package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real child, with the one candidate that needs no server. */
class WorkerProcessIT {
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @TempDir
    Path folder;

    @Test
    void aWorker_obeysAndReportsFailures() throws Exception {
        try (WorkerProcess worker = start("fair-reentrantlock")) {
            Message answer = worker.call(
                    new Message("load")
                            .with("name", "n")
                            .with("threads", 2)
                            .with("millis", 50)
                            .with("one-name", 1),
                    PATIENCE);
            assertThat(answer.number("all")).isPositive();

            assertThatThrownBy(() -> worker.call(new Message("dance"), PATIENCE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("unknown order 'dance'");
            assertThat(worker.call(new Message("cpu"), PATIENCE).number("nanos"))
                    .isPositive();

            worker.kill();
            assertThatThrownBy(() -> worker.call(new Message("cpu"), PATIENCE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("died");
        }
    }

    @Test
    void aWorkerThatCannotConnect_saysWhy() {
        assertThatThrownBy(() -> start("no-such-candidate"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no candidate 'no-such-candidate'");
    }

    private WorkerProcess start(String candidate) throws IOException, InterruptedException {
        return WorkerProcess.start(WorkerSettings.usual(folder), "redis", candidate, "redis://127.0.0.1:1");
    }
}
