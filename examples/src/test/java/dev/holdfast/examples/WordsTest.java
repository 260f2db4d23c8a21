package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The prose of the pages has none of the words that the list in CONTRIBUTING.md refuses, and no doubled word. */
class WordsTest {
    private static final String LIST = "### Words of the pages";
    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
    private static final Pattern DOUBLED =
            Pattern.compile("(?i)(?<![\\w-])([a-z]+)[ \\t]*\\n?[ \\t]*(?<=\\s)\\1(?![\\w-])");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^ *```.*?^ *```");
    private static final Pattern ADDRESS =
            Pattern.compile("]\\([^)]*\\)|^\\[[^]]+]: .*|https?:\\S+", Pattern.MULTILINE);

    @TestFactory
    Stream<DynamicTest> pages_haveOnlyOurWords() throws IOException {
        List<Pattern> refused = refused();
        assertThat(refused).hasSizeGreaterThan(30);
        return Pages.all().stream()
                .filter(page -> !Pages.name(page).startsWith("benchmarks/results/")) // written by bin/bench
                .map(page -> DynamicTest.dynamicTest(
                        Pages.name(page),
                        () -> assertThat(found(refused, Pages.text(page)))
                                .as("words of %s that the list in CONTRIBUTING.md refuses", Pages.name(page))
                                .isEmpty()));
    }

    @Test
    void refusedWords_areFound() {
        assertThat(found(refused(), """
                        The loss is told to the the holder, e.g. by `told`.
                        It isn't [so](told.md), and the colour has a timeout.
                        ```
                        told
                        ```
                        """)).containsExactlyInAnyOrder("told", "the the", "e.g.", "isn't", "timeout");
    }

    private static List<Pattern> refused() {
        String page = Pages.text(Pages.ROOT.resolve("CONTRIBUTING.md"));
        String list = page.substring(page.indexOf(LIST), page.indexOf("\n## ", page.indexOf(LIST)));
        return list.lines()
                .filter(line -> line.startsWith("| `"))
                .map(line -> line.substring(0, line.lastIndexOf(" | ")))
                .flatMap(line -> QUOTED.matcher(line).results())
                .map(word -> Pattern.compile("(?i)(?<![\\w-])" + word.group(1).replace("\\|", "|") + "(?![\\w-])"))
                .toList();
    }

    private static List<String> found(List<Pattern> refused, String page) {
        String prose = BLOCK.matcher(page).replaceAll("");
        prose = QUOTED.matcher(prose).replaceAll("``");
        prose = ADDRESS.matcher(prose).replaceAll("]");
        List<String> found = new ArrayList<>();
        for (Pattern word : refused) {
            word.matcher(prose).results().forEach(hit -> found.add(hit.group()));
        }
        Matcher doubled = DOUBLED.matcher(prose);
        while (doubled.find()) {
            found.add(doubled.group());
        }
        return found;
    }
}
