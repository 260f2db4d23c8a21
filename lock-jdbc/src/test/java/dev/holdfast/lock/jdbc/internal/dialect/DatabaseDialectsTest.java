package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class DatabaseDialectsTest {
    private static final Path SOURCES = Path.of("src/main/java/dev/holdfast/lock/jdbc");

    /** What only a dialect may have: a product's name, its codes, its SQL states. */
    private static final Pattern OF_ONE_DATABASE = Pattern.compile(
            "(?i)postgres|\\bpg|mysql|mariadb|innodb|\\bh2\\b|getErrorCode\\(\\) [=!]=|\"[0-9][0-9A-Z]{4}\"");

    /** States of the SQL standard that we use ourselves. */
    private static final Set<String> STANDARD_STATES =
            Set.of("\"08000\"", "\"08001\"", "\"08003\"", "\"25006\"", "\"40001\"");

    private static final Pattern COMMENT_OR_TEXT = Pattern.compile(
            "(/\\*.*?\\*/|//[^\\n]*)|\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])'", Pattern.DOTALL);

    @Test
    @DisplayName("Only the dialects name a database, or use its codes and SQL states: a further one is one class")
    void sources_outsideOfTheDialects_nameNoDatabase() throws IOException {
        assertThat(found("int a; // H2\n/* MySQL */ b = \"/* h2\"; '\"' \"40001\" // \"42P01\""))
                .containsExactly("h2");
        List<String> found = new ArrayList<>();
        int files = 0;
        try (Stream<Path> sources = Files.walk(SOURCES)) {
            for (Path each : sources.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> !file.startsWith(SOURCES.resolve("internal/dialect")))
                    .filter(file -> !file.endsWith("JdbcFailure.java")) // the states of the standard
                    .toList()) {
                files++;
                found(Files.readString(each)).forEach(text -> found.add(each.getFileName() + ": " + text));
            }
        }
        assertThat(files).isGreaterThan(60);
        assertThat(found).isEmpty();
    }

    private static List<String> found(String source) {
        String code = COMMENT_OR_TEXT
                .matcher(source)
                .replaceAll(text -> text.group(1) != null ? " " : Matcher.quoteReplacement(text.group()));
        return OF_ONE_DATABASE
                .matcher(code)
                .results()
                .map(MatchResult::group)
                .filter(text -> !STANDARD_STATES.contains(text))
                .toList();
    }

    @Test
    @DisplayName(
            "No error code and no SQL state means different things on two databases, since the database may not be known yet")
    void failures_ofTwoDatabases_doNotClash() {
        int known = 0;
        for (int code = 0; code < 100_000; code++) {
            int each = code;
            known += meanings(dialect -> dialect.ofCode(each, "")).size();
        }
        for (String start : List.of("08", "22", "25", "26", "28", "3D", "3F", "40", "42", "55", "57", "S1")) {
            for (int rest = 0; rest < 36 * 36 * 36; rest++) {
                String end =
                        Integer.toString(36 * 36 * 36 + rest, 36).substring(1).toUpperCase(Locale.ROOT);
                known +=
                        meanings(dialect -> dialect.ofState(start + end, 0, "")).size();
            }
        }
        assertThat(known).isGreaterThan(30);
    }

    private static Set<JdbcFailure> meanings(Function<DatabaseDialect, JdbcFailure> question) {
        Set<JdbcFailure> meanings = EnumSet.noneOf(JdbcFailure.class);
        DatabaseDialects.ALL.stream().map(question).filter(Objects::nonNull).forEach(meanings::add);
        if (meanings.size() > 1) {
            throw new AssertionError("different meanings of one code or SQL state: " + meanings);
        }
        return meanings;
    }
}
