package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Comments read like those of well-known libraries. The patterns count personified or clipped idioms, of which such libraries have
 * at most one in 1,000 words. A hit is a place to look at, not a mistake by itself; only their share is limited.
 */
class PlainEnglishTest {
    private static final double MAX_MAIN = 2;
    private static final double MAX_TESTS = 3;

    private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);
    private static final Pattern WORD = Pattern.compile("[A-Za-z']+");
    private static final List<Pattern> IDIOMS = Stream.of(
                    "\\b(told|tells?|telling|untold)\\b",
                    "\\b(whoever|whomever)\\b",
                    "(?<=[.,;:(] )[Ww]ho (has|is|asks|comes|waits|holds|leads|reads|begins|keeps|knows|was)\\b",
                    "(?<=\\* )Who (has|is|asks|comes|waits|holds|leads|reads)\\b",
                    "\\b([Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody)\\b",
                    "\\b([Bb]esides?)\\b",
                    "\\b(all the same|[Ll]ikewise|for good|anew|lately|in vain|of late|once more)\\b",
                    "\\b(st(an|oo)ds? still|under way|on (its|their) way|is out\\b|still out)",
                    "\\b(is|are|was|were) to (be|have|say|tell|take|wait|ask|hold|get|keep|do|end|go|write)\\b",
                    "\\b(so many|so long|as it is|as they are|as is)\\b",
                    "\\b(mends?|mended|hears?|heard|forgets?|forgot|remembers?|believes?|doubts?|knows?)\\b")
            .map(Pattern::compile)
            .toList();

    @Test
    void mainSources_haveFewIdioms() throws IOException {
        Count all = new Count();
        for (Path file : Sources.files(Sources.ROOT, ".java", ".kt")) {
            if (file.toString().contains("/src/main/")) {
                all.add(file);
            }
        }
        all.check("main sources", MAX_MAIN);
    }

    @Test
    void testkit_hasFewIdioms() throws IOException {
        Count testkit = new Count();
        for (Path file : Sources.files(Sources.mainSources("lock-testkit"), ".java")) {
            testkit.add(file);
        }
        testkit.check("lock-testkit", MAX_MAIN);
    }

    @Test
    void tests_haveFewIdioms() throws IOException {
        Count all = new Count();
        for (Path file : Sources.files(Sources.ROOT, ".java", ".kt")) {
            if (file.toString().contains("/src/test/")) {
                all.add(file);
            }
        }
        all.check("tests", MAX_TESTS);
    }

    private static final class Count {
        private final List<String> places = new ArrayList<>();
        private long words;

        void add(Path file) throws IOException {
            String comments = COMMENT.matcher(Files.readString(file))
                    .results()
                    .map(found -> found.group())
                    .collect(Collectors.joining("\n"));
            words += WORD.matcher(comments).results().count();
            for (Pattern idiom : IDIOMS) {
                Matcher found = idiom.matcher(comments);
                while (found.find()) {
                    places.add(Sources.ROOT.relativize(file) + ": " + around(comments, found));
                }
            }
        }

        private static String around(String text, Matcher found) {
            return text.substring(Math.max(0, found.start() - 30), Math.min(text.length(), found.end() + 30))
                    .replaceAll("[\\s*]+", " ");
        }

        void check(String area, double limit) {
            assertThat(words).as("words of comments in the " + area).isGreaterThan(5_000);
            double share = 1000.0 * places.size() / words;
            assertThat(share)
                    .as("idioms per 1,000 words of comments in the %s; places:%n%s", area, String.join("\n", places))
                    .isLessThan(limit);
        }
    }
}
