package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What the documentation points to is there: files, headings, commands and their options. Lines are short. Nothing is fetched. */
class LinksTest {
    private static final int MAX_LINE_LENGTH = 160;
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
    private static final Pattern COMMAND = Pattern.compile("(?<![\\w/.-])bin/([a-z][a-z-]*)([^`\\n#|]*)");
    private static final Pattern OPTION = Pattern.compile("--[a-z][a-z-]*");
    private static final Pattern PROFILE = Pattern.compile("\\bmvn[^`\\n]* -P([a-z]+)");
    private static final Pattern SETTING = Pattern.compile("\\b(LockClientOptions|LockOptions)\\.([a-z]\\w*)");

    @TestFactory
    Stream<DynamicTest> links_leadSomewhere() throws IOException {
        return Pages.all().stream()
                .map(page -> DynamicTest.dynamicTest(
                        Pages.name(page),
                        () -> assertThat(deadLinks(page))
                                .as("links of %s that lead nowhere", Pages.name(page))
                                .isEmpty()));
    }

    @Test
    void whatIsNotThere_isFound() throws IOException {
        Path page = Files.writeString(
                Files.createDirectories(Path.of("target")).resolve("page.md").toAbsolutePath(),
                """
                # A page
                [here](#a-page) [not](#nowhere) [file](../pom.xml) [none](none.md) [far](https://example.org/)
                `bin/demo --backend URI --nonsense 1`, `bin/nothing`, `LockClientOptions.who`, `LockOptions.colour`
                """ + "| %1$s |\n%1$s\n%1$s.\n```\n%1$s.\n```\n".formatted("x".repeat(MAX_LINE_LENGTH)));

        assertThat(deadLinks(page)).containsExactly("#nowhere", "none.md");
        assertThat(missingCommands(page)).containsExactly("bin/demo --nonsense", "bin/nothing", "LockOptions.colour");
        assertThat(longLines(page)).containsExactly("x".repeat(MAX_LINE_LENGTH) + ".");
    }

    private static List<String> deadLinks(Path page) {
        List<String> dead = new ArrayList<>();
        Matcher links = LINK.matcher(Pages.prose(page));
        while (links.find()) {
            String link = links.group(1);
            if (!link.matches("(https?|mailto):.*") && !leadsSomewhere(page, link)) {
                dead.add(link);
            }
        }
        return dead;
    }

    private static boolean leadsSomewhere(Path page, String link) {
        String[] parts = link.split("#", 2);
        Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
        boolean anchored = parts.length == 2;
        return target.startsWith(Pages.ROOT)
                && Files.exists(target)
                && (!anchored || Pages.anchors(target).contains(parts[1]));
    }

    @TestFactory
    Stream<DynamicTest> commands_exist() throws IOException {
        return Pages.all().stream()
                .map(page -> DynamicTest.dynamicTest(
                        Pages.name(page),
                        () -> assertThat(missingCommands(page))
                                .as("commands, options and settings of %s that do not exist", Pages.name(page))
                                .isEmpty()));
    }

    @TestFactory
    Stream<DynamicTest> lines_areShort() throws IOException {
        return Pages.all().stream()
                .filter(page -> !Pages.name(page).startsWith("benchmarks/results/")) // written by bin/bench
                .map(page -> DynamicTest.dynamicTest(
                        Pages.name(page),
                        () -> assertThat(longLines(page))
                                .as("lines of %s with more than %d characters", Pages.name(page), MAX_LINE_LENGTH)
                                .isEmpty()));
    }

    /** Rows of tables and blocks of code cannot be wrapped. */
    private static List<String> longLines(Path page) {
        return Pages.prose(page)
                .lines()
                .filter(line -> line.length() > MAX_LINE_LENGTH && !line.startsWith("|"))
                .toList();
    }

    private static List<String> missingCommands(Path page) throws IOException {
        List<String> missing = new ArrayList<>();
        String text = Pages.text(page);
        Matcher commands = COMMAND.matcher(text);
        while (commands.find()) {
            String command = "bin/" + commands.group(1);
            Path script = Pages.ROOT.resolve(command);
            if (!Files.exists(script) && !Files.exists(Path.of(script + ".sh"))) {
                missing.add(command);
            } else if (Files.exists(script)) {
                Matcher options = OPTION.matcher(commands.group(2));
                while (options.find()) {
                    if (!knows(script, options.group())) {
                        missing.add(command + " " + options.group());
                    }
                }
            }
        }
        String build = Files.readString(Pages.ROOT.resolve("pom.xml"));
        Matcher profiles = PROFILE.matcher(text);
        while (profiles.find()) {
            if (!build.contains("<id>" + profiles.group(1) + "</id>")) {
                missing.add("Maven profile " + profiles.group(1));
            }
        }
        Matcher settings = SETTING.matcher(text);
        while (settings.find()) {
            Class<?> options =
                    settings.group(1).equals("LockClientOptions") ? LockClientOptions.class : LockOptions.class;
            if (Arrays.stream(options.getMethods())
                    .noneMatch(method -> method.getName().equals(settings.group(2)))) {
                missing.add(settings.group());
            }
        }
        return missing;
    }

    /** The script names the option, or the Java programs that it starts do. */
    private static boolean knows(Path script, String option) throws IOException {
        if (Files.readString(script).contains(option)) {
            return true;
        }
        for (String module : List.of("examples", "benchmarks", "verification/chaos")) {
            Path sources = Pages.ROOT.resolve(module).resolve("src");
            if (Files.isDirectory(sources) && anySourceNames(sources, option)) {
                return true;
            }
        }
        return false;
    }

    private static boolean anySourceNames(Path sources, String option) throws IOException {
        try (Stream<Path> files = Files.walk(sources)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .anyMatch(file -> Pages.text(file).contains('"' + option + '"'));
        }
    }
}
