package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The starter, as it was compiled, in a process with Spring Boot 3.5 instead of 4.1. The build puts its jars into target/boot3. */
class Boot3IT {
    @TempDir
    Path folder;

    @Test
    void starter_makesAClientOnTheDataSource_withEndpointAndHealth() throws Exception {
        List<String> classPath = new ArrayList<>();
        try (Stream<Path> jars = Files.list(Path.of("target", "boot3"))) {
            jars.map(jar -> jar.toAbsolutePath().toString()).forEach(classPath::add);
        }
        assertThat(classPath).as("jars of Spring Boot 3.5").hasSizeGreaterThan(10);
        Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                        .split(File.pathSeparator))
                .filter(entry -> !entry.matches(".*/(spring-|micrometer-)[^/]*\\.jar"))
                .forEach(classPath::add);
        Path out = folder.resolve("out.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx256m",
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        Boot3Application.class.getName())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        try {
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).as("ends").isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(out))
                .containsPattern("Boot 3\\.5\\.\\d+")
                .containsPattern("(?m)^held, token [1-9]")
                .containsPattern("(?m)^endpoint: .*name=orders/42")
                .contains("health: UP {held={lockClient=0}}", "closed health: DOWN")
                .doesNotContain(" WARN ");
        assertThat(process.exitValue()).isZero();
    }
}
