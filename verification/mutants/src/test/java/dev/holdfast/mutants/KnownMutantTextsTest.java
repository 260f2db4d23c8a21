package dev.holdfast.mutants;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The lists of known mutants are about the current code: {@code bin/mutate --known} can make each of them. */
final class KnownMutantTextsTest {
    private static final Path ROOT = Path.of("..", "..").toAbsolutePath().normalize();
    private static final String CONTRACT = "dev.holdfast.lock.testkit.LockContract$";

    static List<Arguments> mutants() throws IOException {
        List<Arguments> mutants = new ArrayList<>();
        for (Path module : modules()) {
            for (KnownMutant mutant : ChangedClass.ofModule(module)) {
                mutants.add(Arguments.of(module.getFileName(), mutant.says(), mutant));
            }
        }
        return mutants;
    }

    private static List<Path> modules() throws IOException {
        try (Stream<Path> folders = Files.list(ROOT)) {
            return folders.filter(folder -> Files.isDirectory(ChangedClass.lists(folder)))
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("mutants")
    @DisplayName("Each text of a known mutant is in its class once, and the tests that must notice exist")
    void mutant_applies_andItsTestsExist(Path module, String says, KnownMutant mutant) throws IOException {
        Path sources = ROOT.resolve(module).resolve("src");
        String source = Files.readString(mutant.source(ROOT.resolve(module)));
        assertThat(mutant.applyTo(source)).as(says).isNotEqualTo(source);
        assertThat(mutant.tests()).as("tests that must notice: %s", says).isNotEmpty();
        for (String test : mutant.tests()) {
            String[] parts = test.split("#");
            String[] names = parts[0].split("/");
            Path tests = sources.resolve("test/java/" + file(names[0]));
            assertThat(tests).as("%s: %s", says, test).exists();
            if (names.length > 1) {
                assertThat(group(names[1])).as("%s: %s", says, test).isTrue();
            } else if (parts.length > 1) {
                assertThat(Files.readString(tests)).as("%s: %s", says, test).contains("void " + parts[1] + "(");
            }
        }
    }

    private static String file(String className) {
        return className.replace('.', '/') + ".java";
    }

    private static boolean group(String name) {
        try {
            return Class.forName(CONTRACT + name) != null;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    @Test
    @DisplayName("The engine's list and those of the backends are read")
    void lists_areRead() throws IOException {
        assertThat(modules())
                .extracting(module -> module.getFileName().toString())
                .contains("lock-api", "lock-consul", "lock-etcd", "lock-jdbc", "lock-memcached", "lock-redis")
                .contains("lock-zookeeper");
        assertThat(mutants()).hasSizeBetween(80, 200);
    }
}
