package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.io.File;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/spring.md, followed to the letter: files from its blocks in an empty folder, its modules only, a real server. What differs by store is little. */
class FiveMinutesIT {
    /** What is on the class path of this test, and on that of an application only if its pom names it. */
    private static final List<String> CHOSEN = List.of(
            "lock-jdbc",
            "lock-redis",
            "lock-etcd",
            "lock-zookeeper",
            "lock-consul",
            "lock-memcached",
            "lock-memory",
            "lock-testkit",
            "postgresql");

    @TempDir
    Path folder;

    @Test
    void database() throws Exception {
        try (PostgresServer server = PostgresServer.start()) {
            follow(
                    "## A database",
                    "spring.datasource.url=" + server.url(),
                    "spring.datasource.username=" + PostgresServer.USER,
                    "spring.datasource.password=" + PostgresServer.PASSWORD);
        }
    }

    @Test
    void redis() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            follow(
                    "## Redis or Valkey",
                    "spring.data.redis.host=" + server.host(),
                    "spring.data.redis.port=" + server.port());
        }
    }

    @Test
    @Tag("full")
    void etcd() throws Exception {
        try (EtcdServer server = EtcdServer.start()) {
            follow("## etcd", "holdfast.uri=" + server.endpoints().get(0).replace("http:", "etcd:"));
        }
    }

    @Test
    @Tag("full")
    void zooKeeper() throws Exception {
        try (ZooKeeperServer server =
                ZooKeeperServer.builder(System.getProperty("java.class.path")).start()) {
            follow("## ZooKeeper", "holdfast.uri=zookeeper://" + server.connectString());
        }
    }

    @Test
    @Tag("full")
    void consul() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            follow(
                    "## Consul",
                    "holdfast.uri=consul://localhost:" + server.agent().port());
        }
    }

    @Test
    @Tag("full")
    void memcached() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            follow("## memcached", "holdfast.uri=memcached://" + server.host() + ":" + server.port());
        }
    }

    /** The addresses are those of this test's servers: properties that the page sets and that have another value here. */
    private void follow(String section, String... addresses) throws Exception {
        String page = Files.readString(Path.of("../../docs/spring.md"));
        String part = page.substring(page.indexOf(section));
        part = part.substring(0, part.indexOf("\n## ", 1));
        Set<String> named = Pattern.compile("<artifactId>(.*?)</artifactId>")
                .matcher(block(part, "xml dependencies"))
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(named).contains("holdfast-spring-boot-starter").hasSizeGreaterThan(2);
        String properties = block(part, "properties");
        for (String address : addresses) {
            String key = address.substring(0, address.indexOf('=') + 1);
            assertThat(properties)
                    .as("the page sets what the test has to replace")
                    .contains(key);
            properties = Pattern.compile("(?m)^" + Pattern.quote(key) + ".*$")
                    .matcher(properties)
                    .replaceAll(address.replace("$", "\\$"));
        }

        Path source = folder.resolve("src/main/java/com/example/shop/ShopApplication.java");
        Path classes = Files.createDirectories(folder.resolve("target/classes"));
        Files.createDirectories(source.getParent());
        Files.writeString(source, block(page, "java application"));
        Files.writeString(
                classes.resolve("application.properties"),
                properties + "\nholdfast.request-timeout=20s\nholdfast.lock.lease=90s\n"); // loading takes seconds
        String classPath = classPath(named);
        StringWriter messages = new StringWriter();
        boolean compiled = ToolProvider.getSystemJavaCompiler()
                .getTask(
                        messages,
                        null,
                        null,
                        List.of("-proc:none", "-d", classes.toString(), "-cp", classPath),
                        null,
                        ToolProvider.getSystemJavaCompiler()
                                .getStandardFileManager(null, null, null)
                                .getJavaFileObjects(source))
                .call();
        assertThat(compiled).as(messages.toString()).isTrue();

        Path out = folder.resolve("out.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-XX:+UnlockDiagnosticVMOptions",
                        "-XX:-BytecodeVerificationRemote", // starts sooner
                        "-Xmx256m",
                        "-cp",
                        classes + File.pathSeparator + classPath,
                        "com.example.shop.ShopApplication")
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        try {
            assertThat(process.waitFor(3, TimeUnit.MINUTES)).as("ends").isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(out, StandardCharsets.UTF_8))
                .containsPattern("(?m)^orders/42 is mine, token [1-9]\\d*$")
                .doesNotContain(" WARN ")
                .doesNotContain(" ERROR ");
        assertThat(process.exitValue()).isZero();
    }

    private static String classPath(Set<String> named) {
        List<String> left = new ArrayList<>(CHOSEN);
        left.removeAll(named);
        if (!named.contains("spring-boot-starter-jdbc")) {
            left.addAll(List.of("spring-boot-jdbc", "spring-jdbc"));
        }
        if (!named.contains("spring-boot-starter-data-redis")) {
            left.addAll(List.of("spring-boot-data-redis", "spring-data-redis"));
        }
        left.addAll(List.of("spring-boot-tomcat", "spring-boot-webmvc", "tomcat-embed", "h2", "spring-boot-test"));
        return Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                        .split(File.pathSeparator))
                .filter(entry -> !entry.endsWith("test-classes"))
                .filter(entry -> left.stream()
                        .noneMatch(module -> entry.matches(".*/" + module + "(/target/.*|[^/]*-\\d[^/]*\\.jar)")))
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** The first block of that kind, without its indentation. */
    private static String block(String text, String kind) {
        MatchResult found = Pattern.compile("(?ms)^( *)```" + Pattern.quote(kind) + "\\R(.*?)^ *```")
                .matcher(text)
                .results()
                .findFirst()
                .orElseThrow(() -> new AssertionError("no block '" + kind + "'"));
        return found.group(2).replaceAll("(?m)^" + found.group(1), "");
    }
}
