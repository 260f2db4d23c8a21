package dev.holdfast.rules;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** The checkout: its modules, and the files in it that a person wrote. */
final class Sources {
    static final Path ROOT = Path.of("..", "..").toAbsolutePath().normalize();

    private static final Pattern MODULE = Pattern.compile("<module>([^<]+)</module>");
    private static final Set<String> SKIPPED_FOLDERS = Set.of("target", ".git", "node_modules", "work", ".idea");

    private Sources() {}

    /** The folders of the modules that have main sources, as the POM lists them. */
    static List<String> modules() throws IOException {
        return MODULE.matcher(Files.readString(ROOT.resolve("pom.xml")))
                .results()
                .map(found -> found.group(1))
                .filter(module -> Files.isDirectory(ROOT.resolve(module).resolve("src/main/java")))
                .toList();
    }

    /** The modules that are published, the command among them. */
    static List<String> published() throws IOException {
        return modules().stream()
                .filter(module -> module.matches("(integrations/)?lock-.*"))
                .toList();
    }

    static Path mainSources(String module) {
        return ROOT.resolve(module).resolve("src/main/java");
    }

    static Path classes(String module) {
        return ROOT.resolve(module).resolve("target/classes");
    }

    static Path testClasses(String module) {
        return ROOT.resolve(module).resolve("target/test-classes");
    }

    /** All files below a folder whose name ends with one of the suffixes; build output is left out. */
    static List<Path> files(Path folder, String... suffixes) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path each, BasicFileAttributes attributes) {
                return SKIPPED_FOLDERS.contains(String.valueOf(each.getFileName()))
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                for (String suffix : suffixes) {
                    if (file.toString().endsWith(suffix)) {
                        found.add(file);
                        break;
                    }
                }
                return FileVisitResult.CONTINUE;
            }
        });
        found.sort(null);
        return found;
    }
}
