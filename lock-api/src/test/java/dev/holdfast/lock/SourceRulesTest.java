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
            "ThreadLocal is never relied on", Pattern.compile("\\bThreadLocal\\b"));

    @Test
    void sources_followTheRules() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : mainSources()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                String code = withoutComment(lines.get(i));
                int line = i + 1;
                FORBIDDEN.forEach((reason, pattern) -> {
                    if (pattern.matcher(code).find() && !isTestTool(file, reason)) {
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

    /** The published modules' main sources; this test runs in one module's folder. */
    private static List<Path> mainSources() throws IOException {
        List<Path> sources = new ArrayList<>();
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            for (Path module : modules.filter(
                            path -> path.getFileName().toString().startsWith("lock-"))
                    .toList()) {
                Path main = module.resolve("src/main/java");
                if (Files.isDirectory(main)) {
                    try (Stream<Path> files = Files.walk(main)) {
                        files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
                    }
                }
            }
        }
        assertThat(sources).as("main sources").hasSizeGreaterThan(30);
        return sources;
    }

    /** The testkit waits for servers and tells what it ran; it may do both in the plain way. */
    private static boolean isTestTool(Path file, String reason) {
        return file.startsWith(Path.of("../lock-testkit")) && (reason.contains("print") || reason.contains("sleep"));
    }

    private static String withoutComment(String line) {
        String code = line.strip();
        if (code.startsWith("*") || code.startsWith("/*") || code.startsWith("//")) {
            return "";
        }
        return code.replaceAll("\"(\\\\.|[^\"\\\\])*\"", "\"\"").replaceAll("//.*", "");
    }
}
