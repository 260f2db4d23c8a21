package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules of the style that class files do not show, over the main sources of all library modules. */
class SourceRulesTest {

    private static final Map<String, Pattern> FORBIDDEN = Map.of(
            "a monitor pins or blocks virtual threads; use ReentrantLock", Pattern.compile("\\bsynchronized\\b"),
            "libraries do not print; use SLF4J", Pattern.compile("\\bSystem\\.(out|err)\\b|\\.printStackTrace\\("),
            "sleeping is no synchronisation", Pattern.compile("\\bThread\\.sleep\\(|\\.SECONDS\\.sleep\\("),
            "ThreadLocal is never relied on", Pattern.compile("\\bThreadLocal\\b"),
            "a thread serves all callers, so it inherits no thread-locals: new Thread(null, task, name, 0, false)",
                    Pattern.compile("\\bnew Thread\\((?!null,|$)"));

    @Test
    void sources_followTheRules() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : mainSources()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                String code = ofCommand(file, withoutComment(lines.get(i)));
                int line = i + 1;
                FORBIDDEN.forEach((reason, pattern) -> {
                    if (pattern.matcher(code).find() && !isTestTool(file, reason) && !isSpring(file, reason)) {
                        found.add(file + ":" + line + ": " + code.trim() + " (" + reason + ")");
                    }
                });
            }
        }
        assertThat(found).isEmpty();
    }

    @Test
    void packages_areNullMarkedAndDescribed() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path folder : mainSources().stream()
                .filter(file -> !file.endsWith("module-info.java"))
                .map(Path::getParent)
                .distinct()
                .toList()) {
            Path info = folder.resolve("package-info.java");
            if (!Files.exists(info) || !Files.readString(info).contains("@")) {
                found.add(folder + " has no package-info.java");
            } else if (!Files.readString(info).contains("NullMarked")) {
                found.add(info + " is not @NullMarked");
            }
        }
        assertThat(found).isEmpty();
    }

    /** Tests share the package of what they test, which is described once, in the main sources. */
    @Test
    void packages_areDescribedOnce() throws IOException {
        for (Path info : sources("src/test/java")) {
            if (info.endsWith("package-info.java")) {
                Path main = Path.of(info.toString().replace("src/test/java", "src/main/java"));
                assertThat(main).as("described in %s as well", info).doesNotExist();
            }
        }
    }

    @Test
    void slowTests_exist() throws IOException {
        List<String> classes = sources("src/test/java").stream()
                .map(file -> "**/" + file.getFileName())
                .toList();
        List<String> listed = Files.readAllLines(Path.of("..", ".ci", "slow-tests")).stream()
                .filter(line -> !line.startsWith("#") && !line.contains("/*IT."))
                .toList();
        assertThat(listed).isNotEmpty().isSubsetOf(classes);
    }

    /** The published modules' main sources; this test runs in one module's folder. */
    private static List<Path> mainSources() throws IOException {
        List<Path> published = sources("src/main/java").stream()
                .filter(file -> file.toString().matches("\\.\\./(integrations/)?lock-.*"))
                .toList();
        assertThat(published).as("main sources").hasSizeGreaterThan(30);
        return published;
    }

    private static List<Path> sources(String folder) throws IOException {
        List<Path> sources = new ArrayList<>();
        for (Path parent : List.of(
                Path.of(".."),
                Path.of("..", "integrations"),
                Path.of("..", "examples"),
                Path.of("..", "verification"))) {
            try (Stream<Path> modules = Files.list(parent)) {
                for (Path module : modules.toList()) {
                    if (Files.isDirectory(module.resolve(folder))) {
                        try (Stream<Path> files = Files.walk(module.resolve(folder))) {
                            files.filter(file -> file.toString().endsWith(".java"))
                                    .forEach(sources::add);
                        }
                    }
                }
            }
        }
        return sources;
    }

    /** A command asks whether its standard output still works; what it writes goes through picocli's. */
    private static String ofCommand(Path file, String code) {
        return file.startsWith(Path.of("../lock-cli")) ? code.replace("System.out.checkError()", "") : code;
    }

    /** The testkit waits for servers and tells what it ran; it may do both in the plain way. */
    private static boolean isTestTool(Path file, String reason) {
        return file.startsWith(Path.of("../lock-testkit"))
                && (reason.contains("print") || reason.contains("sleep") || reason.contains("inherits"));
    }

    /** As in Spring itself, what an annotated method holds belongs to its thread. */
    private static boolean isSpring(Path file, String reason) {
        return file.endsWith("hold/CurrentHolds.java") && reason.contains("ThreadLocal");
    }

    private static String withoutComment(String line) {
        String code = line.strip();
        if (code.startsWith("*") || code.startsWith("/*") || code.startsWith("//")) {
            return "";
        }
        return code.replaceAll("\"(\\\\.|[^\"\\\\])*\"", "\"\"").replaceAll("//.*", "");
    }
}
