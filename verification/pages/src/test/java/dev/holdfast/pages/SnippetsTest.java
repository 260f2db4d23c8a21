package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every block of Java in the documentation compiles without a warning, and so do the examples. A block that is not to be compiled is marked {@code java ignore}. */
class SnippetsTest {

    private static final Pattern BLOCK = Pattern.compile("(?ms)^ *```java\\R(.*?)^ *```");
    private static final String AROUND = """
            import dev.holdfast.lock.*;
            import dev.holdfast.lock.engine.*;
            import dev.holdfast.lock.spi.*;
            import dev.holdfast.lock.spi.support.*;
            import dev.holdfast.lock.consul.*;
            import dev.holdfast.lock.etcd.*;
            import dev.holdfast.lock.jdbc.*;
            import dev.holdfast.lock.memcached.*;
            import dev.holdfast.lock.redis.*;
            import dev.holdfast.lock.zookeeper.*;
            import com.spotify.folsom.*;
            import dev.holdfast.lock.micrometer.*;
            import dev.holdfast.lock.shedlock.*;
            import io.etcd.jetcd.ByteSequence;
            import io.etcd.jetcd.Client;
            import io.etcd.jetcd.op.*;
            import io.etcd.jetcd.options.*;
            import io.lettuce.core.RedisClient;
            import io.lettuce.core.RedisCredentials;
            import io.lettuce.core.RedisCredentialsProvider;
            import io.lettuce.core.RedisURI;
            import io.lettuce.core.cluster.RedisClusterClient;
            import io.micrometer.core.instrument.MeterRegistry;
            import io.micrometer.core.instrument.Tags;
            import java.time.*;
            import java.util.*;
            import java.util.concurrent.*;
            import org.apache.curator.framework.CuratorFramework;
            import org.apache.curator.framework.CuratorFrameworkFactory;
            %s
            abstract class Snippet {
                static GuardedUpdate sell; static java.sql.Connection connection; static javax.sql.DataSource dataSource;
                static LockClient client; static Lease lease; static RedisClient redisClient;
                static CuratorFramework curator; static Client etcd; static ByteSequence key, value; static DistributedLock lock; static Runnable work; static Executor executor;
                static MeterRegistry registry; static java.util.function.Supplier<String> secret;
                void run() throws Exception {
            %s
                }
            }
            """;

    @TestFactory
    Stream<DynamicTest> documentation_compiles() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (Path page : Pages.all()) {
            Matcher matcher = BLOCK.matcher(Pages.text(page));
            while (matcher.find()) {
                String block = matcher.group(1);
                String title = Pages.name(page) + ": "
                        + block.strip().lines().findFirst().orElse("empty");
                tests.add(DynamicTest.dynamicTest(title, () -> compile(block)));
            }
        }
        assertThat(tests).isNotEmpty();
        return tests.stream();
    }

    @Test
    void examples_compileWithoutWarnings(@TempDir Path folder) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(
                "-Xlint:all,-path",
                "-Werror",
                "-proc:none",
                "-d",
                folder.toString(),
                "-cp",
                System.getProperty("java.class.path")));
        try (Stream<Path> files = Files.walk(Path.of("../../examples/src/main/java"))) {
            files.filter(file -> file.toString().endsWith(".java"))
                    .map(Path::toString)
                    .forEach(arguments::add);
        }
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        int status =
                ToolProvider.getSystemJavaCompiler().run(null, messages, messages, arguments.toArray(String[]::new));
        assertThat(status).as("%s", messages).isZero();
    }

    private static void compile(String block) throws IOException {
        StringBuilder imports = new StringBuilder();
        StringBuilder body = new StringBuilder();
        block.lines()
                .forEach(line -> (line.startsWith("import ") ? imports : body)
                        .append(line)
                        .append('\n'));
        String source = AROUND.formatted(imports, body).replace("…", "");
        JavaFileObject file =
                new SimpleJavaFileObject(URI.create("string:///Snippet.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        StringWriter messages = new StringWriter();
        List<String> options = List.of(
                "-Xlint:all,-path",
                "-Werror",
                "-proc:none",
                "-d",
                System.getProperty("java.io.tmpdir"),
                "-cp",
                System.getProperty("java.class.path"));
        boolean good = ToolProvider.getSystemJavaCompiler()
                .getTask(messages, null, null, options, null, List.of(file))
                .call();
        assertThat(good).as("%s%n%s", messages, source).isTrue();
    }
}
