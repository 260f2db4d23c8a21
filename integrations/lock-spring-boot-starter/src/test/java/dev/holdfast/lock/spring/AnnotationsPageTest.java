package dev.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The code of the page on annotations compiles, and that of the README. */
class AnnotationsPageTest {
    static Stream<String> snippets() throws Exception {
        String pages = Files.readString(Path.of("../../docs/spring-annotations.md"))
                + Files.readString(Path.of("../../docs/spring.md"))
                + Files.readString(Path.of("../../README.md"));
        return Pattern.compile("(?ms)^```java spring\\R(.*?)^```")
                .matcher(pages)
                .results()
                .map(MatchResult::group)
                .map(block -> block.replaceAll("(?m)^```.*\\R?", ""));
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void snippet_compiles(String source) {
        JavaFileObject file =
                new SimpleJavaFileObject(URI.create("string:///Snippet.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        StringWriter messages = new StringWriter();
        boolean good = ToolProvider.getSystemJavaCompiler()
                .getTask(
                        messages,
                        null,
                        null,
                        List.of(
                                "-proc:none",
                                "-d",
                                System.getProperty("java.io.tmpdir"),
                                "-cp",
                                System.getProperty("java.class.path")),
                        null,
                        List.of(file))
                .call();
        assertThat(good).as(messages.toString()).isTrue();
    }

    @Test
    void firstFiveMinutes_fitOneScreen() throws Exception {
        String page = Files.readString(Path.of("../../docs/spring.md"));
        assertThat(page.substring(0, page.indexOf("\n## ")).lines().count()).isLessThanOrEqualTo(50);
    }
}
