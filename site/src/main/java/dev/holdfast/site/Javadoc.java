package dev.holdfast.site;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/** One Javadoc of all modules that lock-bom lists, so that links lead from module to module. */
final class Javadoc {
    private static final Pattern MODULE = Pattern.compile("<artifactId>(?:lock|holdfast)-([a-z-]+)</artifactId>");

    private Javadoc() {}

    static void write(Path root, Path output) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(
                "-quiet",
                "--ignore-source-errors", // of internal classes whose libraries are not on this class path; the build
                // compiles them
                "-notimestamp",
                "-Xdoclint:none",
                "-nohelp",
                "-notree",
                "-nodeprecatedlist",
                "-encoding",
                "UTF-8",
                "-windowtitle",
                "Holdfast: Javadoc",
                "-header",
                "<a href=\"{@docRoot}/../index.html\">Holdfast</a>",
                "-classpath",
                System.getProperty("java.class.path"),
                "-sourcepath",
                Files.createDirectories(output).toString(),
                "-d",
                output.toString()));
        for (Path module : modules(root)) {
            try (Stream<Path> files = Files.walk(module.resolve("src/main/java"))) {
                files.filter(file -> file.toString().endsWith(".java") && !file.endsWith("module-info.java"))
                        .map(Path::toString)
                        .sorted()
                        .forEach(arguments::add);
            }
        }
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(messages, true, StandardCharsets.UTF_8);
        ToolProvider javadoc = ToolProvider.findFirst("javadoc")
                .orElseThrow(() -> new IllegalStateException("no javadoc: run this with a JDK"));
        if (javadoc.run(out, out, arguments.toArray(String[]::new)) != 0) {
            throw new IllegalStateException("javadoc failed:\n" + messages.toString(StandardCharsets.UTF_8));
        }
    }

    private static List<Path> modules(Path root) throws IOException {
        List<Path> modules = new ArrayList<>();
        Matcher names = MODULE.matcher(Files.readString(root.resolve("lock-bom/pom.xml")));
        while (names.find()) {
            String folder =
                    "lock-" + names.group(1); // that of the starter too, whose artifact has Boot's conventional name
            Stream.of(root.resolve(folder), root.resolve("integrations").resolve(folder))
                    .filter(module -> Files.isDirectory(module.resolve("src/main/java")))
                    .forEach(modules::add);
        }
        return modules;
    }
}
