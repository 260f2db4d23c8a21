package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The starter, as it was compiled, in a process with another Spring Boot. The build puts its jars into folders of target. */
class BootVersionsIT {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"boot40, 4.0, spring-boot|spring-data|micrometer", "boot3, 3.5, spring|micrometer"})
    void starter_makesAClientOnTheDataSource_andLocksMethods_withEndpointAndHealth(
            String jarFolder, String version, String replaced) throws Exception {
        List<String> classPath = new ArrayList<>();
        try (Stream<Path> jars = Files.list(Path.of("target", jarFolder))) {
            jars.map(jar -> jar.toAbsolutePath().toString()).forEach(classPath::add);
        }
        assertThat(classPath).as("jars of Spring Boot %s", version).hasSizeGreaterThan(10);
        Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                        .split(File.pathSeparator))
                .filter(entry -> !entry.matches(".*/(" + replaced + ")-[^/]*\\.jar"))
                .forEach(classPath::add);
        Path out = folder.resolve("out.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx256m",
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        BootVersionsApplication.class.getName())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        try {
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).as("ends").isTrue();
        } finally {
            process.destroyForcibly();
        }
        String printed = Files.readString(out);
        assertThat(printed)
                .containsPattern("Boot " + Pattern.quote(version) + "\\.\\d+")
                .containsPattern("(?m)^held, token [1-9]")
                .containsPattern("(?m)^locked method, token [1-9]")
                .containsPattern("(?m)^endpoint: .*name=orders/42")
                .contains("health: UP {held={holdfastLockClient=0}}", "closed health: DOWN");
        assertThat(printed.substring(0, printed.indexOf("health: UP")))
                .as("before the client is closed, of which health warns")
                .doesNotContain(" WARN ");
        assertThat(process.exitValue()).isZero();
    }
}
