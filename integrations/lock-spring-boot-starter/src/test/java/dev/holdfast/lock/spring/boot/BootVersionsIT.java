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
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The starter, as it was compiled, in a process with another Spring Boot. The build puts its jars into folders of target. Every build
 * starts one for each version, with platform threads on its own JDK; {@code -Dholdfast.spring.jdks=HOME,HOME} starts all versions on
 * each of these JDKs, with platform threads and, from 21 on, with virtual ones.
 */
class BootVersionsIT {
    @TempDir
    Path folder;

    static Stream<Arguments> versions() {
        String jdks = System.getProperty("holdfast.spring.jdks");
        List<Arguments> all = new ArrayList<>();
        for (String home : jdks == null ? List.of(System.getProperty("java.home")) : List.of(jdks.split(","))) {
            for (boolean virtual : jdks == null ? new boolean[] {false} : new boolean[] {false, true}) {
                all.add(Arguments.of("boot40", "4.0", "spring-boot|spring-data|micrometer", home, virtual));
                all.add(Arguments.of("boot3", "3.5", "spring|micrometer", home, virtual));
                if (jdks != null) {
                    all.add(Arguments.of("", "4.1", "spring-boot-data-redis", home, virtual));
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("versions")
    void starter_makesAClientOnTheDataSource_andLocksMethods_withEndpointAndHealth(
            String jarFolder, String version, String replaced, String jdk, boolean virtual) throws Exception {
        List<String> classPath = new ArrayList<>();
        if (!jarFolder.isEmpty()) {
            try (Stream<Path> jars = Files.list(Path.of("target", jarFolder))) {
                jars.map(jar -> jar.toAbsolutePath().toString()).forEach(classPath::add);
            }
            assertThat(classPath).as("jars of Spring Boot %s", version).hasSizeGreaterThan(10);
        }
        Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                        .split(File.pathSeparator))
                .filter(entry -> !entry.matches(".*/(" + replaced + ")-[^/]*\\.jar"))
                .forEach(classPath::add);
        Path out = folder.resolve("out.txt");
        Process process = new ProcessBuilder(
                        Path.of(jdk, "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xmx256m",
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        BootVersionsApplication.class.getName(),
                        "--spring.threads.virtual.enabled=" + virtual)
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
                .contains("virtual " + (virtual && printed.contains("Java 17") ? "false" : virtual))
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
