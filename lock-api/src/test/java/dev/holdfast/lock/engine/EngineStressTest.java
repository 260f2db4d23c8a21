package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@link EngineStress} under jcstress in JVMs of its own; {@code -Dholdfast.jcstress.seconds=N} runs it longer. */
@DisplayName("The engine's races, under jcstress")
class EngineStressTest {
    private static final int SECONDS = Integer.getInteger("holdfast.jcstress.seconds", 1);

    @Test
    @DisplayName("have only the acceptable outcomes")
    void races_haveOnlyAcceptableOutcomes(@TempDir Path folder) throws Exception {
        Path output = folder.resolve("output.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.openjdk.jcstress.Main",
                        "-t",
                        "EngineStress",
                        "-jvmArgs",
                        "-Xmx256m",
                        "-f",
                        "1",
                        "-iters",
                        String.valueOf(Math.max(1, SECONDS * 2 / 3)),
                        "-time",
                        "500",
                        "-strideCount", // of 256 engines that are made before the round: ten times as many took seconds
                        "4",
                        "-sc",
                        "false",
                        "-v",
                        "-r",
                        folder.resolve("results").toString())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            boolean ended = process.waitFor(SECONDS * 10L + 300, TimeUnit.SECONDS);
            String text = Files.readString(output);
            assertThat(ended).as("jcstress ended; its output:%n%s", text).isTrue();
            assertThat(process.exitValue())
                    .as("jcstress's exit code; its output:%n%s", text)
                    .isZero();
            assertThat(text).contains("CancelAgainstGrant", "LossAgainstClose", "ArrivalAgainstRelease");
            assertThat(text).containsPattern("[1-9]\\d* passed, 0 failed, 0 soft errs, 0 hard errs");
        } finally {
            process.destroyForcibly();
        }
    }
}
