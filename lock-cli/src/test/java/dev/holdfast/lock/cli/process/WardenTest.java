package dev.holdfast.lock.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Whether a signal went to the whole group, on a machine that is busy. */
final class WardenTest {
    private final String mark = UUID.randomUUID().toString();

    private long shell() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info()
                        .arguments()
                        .map(arguments -> Arrays.asList(arguments).contains(mark))
                        .orElse(false))
                .findFirst()
                .orElseThrow()
                .pid();
    }

    private static void kill(String signal, long pid) throws Exception {
        Process kill = new ProcessBuilder("kill", "-s", signal, Long.toString(pid)).start();
        assertThat(kill.waitFor()).isZero();
    }

    @Test
    void report_thatComesLate_isAwaited() throws Exception {
        try (Warden warden = Warden.start(mark)) {
            long shell = shell();
            kill("STOP", shell); // as a busy machine does
            kill("TERM", shell);
            CompletableFuture<Boolean> report =
                    CompletableFuture.supplyAsync(() -> warden.takeReport(PosixSignal.TERM));
            TimeUnit.MILLISECONDS.sleep(1_000);
            assertThat(report).isNotDone();
            kill("CONT", shell);

            assertThat(report.get(1, TimeUnit.MINUTES)).isTrue();
        }
    }

    @Test
    void signalOfThisProcessAlone_isNoGroups() throws Exception {
        try (Warden warden = Warden.start(mark)) {
            long startNanos = System.nanoTime();
            assertThat(warden.takeReport(PosixSignal.USR1)).isFalse();
            assertThat(System.nanoTime() - startNanos)
                    .as("it is passed on when the shell has answered")
                    .isLessThan(TimeUnit.SECONDS.toNanos(4));

            kill("USR1", shell()); // no INT: a build in the background ignores it, and its children do
            assertThat(warden.takeReport(PosixSignal.USR1)).isTrue();
        }
    }

    @Test
    void shellThatHasEnded_reportsNothing() throws Exception {
        try (Warden warden = Warden.start(mark)) {
            kill("KILL", shell());

            assertThat(warden.takeReport(PosixSignal.TERM)).isFalse();
        }
    }
}
