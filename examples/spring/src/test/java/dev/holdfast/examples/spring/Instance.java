package dev.holdfast.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.PostgresServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A process of the application, and what it printed. */
final class Instance implements AutoCloseable {
    private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");
    private final Process process;
    private final Path out;
    private final HttpClient http = HttpClient.newHttpClient();

    private Instance(Process process, Path out) {
        this.process = process;
        this.out = out;
    }

    static Instance start(Path folder, String name, PostgresServer database, String... jvm) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC"));
        command.addAll(List.of(jvm));
        command.addAll(List.of(
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                ShopApplication.class.getName(),
                "--server.port=0",
                "--spring.main.banner-mode=off",
                "--spring.datasource.url=" + database.url(),
                "--spring.datasource.username=" + PostgresServer.USER,
                "--spring.datasource.password=" + PostgresServer.PASSWORD,
                "--spring.sql.init.mode=" + (name.equals("first") ? "always" : "never"),
                "--holdfast.jdbc.initialize-schema=always",
                "--holdfast.who=" + name,
                "--holdfast.lock.lease=60s",
                "--holdfast.request-timeout=20s", // the first connection loads the pool and the driver
                "--shop.report-cron=* * * * * *",
                "--shop.statements=" + folder.resolve("statements")));
        Path out = folder.resolve(name + ".txt");
        return new Instance(
                new ProcessBuilder(command)
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(out.toFile())
                        .start(),
                out);
    }

    long pid() {
        return process.pid();
    }

    List<String> lines() throws IOException {
        return Files.readAllLines(out);
    }

    long count(String text) throws IOException {
        return lines().stream().filter(line -> line.contains(text)).count();
    }

    void awaitLine(String text) {
        await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> {
            assertThat(process.isAlive() || count(text) > 0)
                    .as("alive: %s", lines())
                    .isTrue();
            assertThat(lines()).anyMatch(line -> line.contains(text));
        });
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return send(HttpRequest.newBuilder(uri(path)).build());
    }

    HttpResponse<String> post(String path) throws IOException, InterruptedException {
        return send(HttpRequest.newBuilder(uri(path))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build());
    }

    private HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        return http.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private URI uri(String path) throws IOException {
        String port = lines().stream()
                .map(PORT::matcher)
                .filter(Matcher::find)
                .findFirst()
                .orElseThrow()
                .group(1);
        return URI.create("http://localhost:" + port + path);
    }

    /** SIGTERM, as an orchestrator sends it. */
    void terminate() {
        process.destroy();
    }

    int awaitExit() throws InterruptedException {
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).as("ends").isTrue();
        return process.exitValue();
    }

    @Override
    public void close() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }
}
