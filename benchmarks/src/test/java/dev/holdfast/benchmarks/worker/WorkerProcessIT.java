package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real child, with the one contender that needs no server. */
class WorkerProcessIT {
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @TempDir
    Path folder;

    @Test
    void aWorker_obeysAndReportsFailures() throws Exception {
        try (WorkerProcess worker = start("fair-reentrantlock")) {
            Fields answer = worker.call(
                    new Fields("load")
                            .with("name", "n")
                            .with("threads", 2)
                            .with("millis", 50)
                            .with("one-name", 1),
                    PATIENCE);
            assertThat(answer.number("all")).isPositive();

            assertThatThrownBy(() -> worker.call(new Fields("dance"), PATIENCE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("unknown order 'dance'");
            assertThat(worker.call(new Fields("cpu"), PATIENCE).number("nanos")).isPositive();

            worker.kill();
            assertThatThrownBy(() -> worker.call(new Fields("cpu"), PATIENCE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("died");
        }
    }

    @Test
    void aWorkerThatCannotConnect_saysWhy() {
        assertThatThrownBy(() -> start("no-such-contender"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no contender 'no-such-contender'");
    }

    private WorkerProcess start(String contender) throws IOException, InterruptedException {
        return WorkerProcess.start(WorkerSettings.usual(folder), "redis", contender, "redis://127.0.0.1:1");
    }
}
