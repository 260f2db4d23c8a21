package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One agent of a {@link ConsulServer}: a server, or the agent that clients of a cluster use.
 *
 * <p>Thread-safe.
 */
public final class ConsulNode {
    private static final Duration QUICK = Duration.ofSeconds(3);
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(2))
            .build();
    private static final int FIRST_ERROR = 400;
    private static final Pattern VERSION = Pattern.compile("\"Version\":\"([^\"]+)\"");
    private static final Pattern COUNT = Pattern.compile("(?m)^consul_http_\\S*_count (\\d+)");

    private final String name;
    private final ServerProcess process;
    private final String token;

    ConsulNode(String name, ServerProcess process, String token) {
        this.name = name;
        this.process = process;
        this.token = token;
    }

    /**
     * Returns the node's name in Consul.
     *
     * @return for example {@code s0}
     */
    public String name() {
        return name;
    }

    /**
     * Returns the port of the HTTP API.
     *
     * @return the port, the same after a restart
     */
    public int port() {
        return process.port();
    }

    /** Freezes the agent (SIGSTOP). */
    public void pause() {
        process.pause();
    }

    /** Ends {@link #pause()} (SIGCONT). */
    public void resume() {
        process.resume();
    }

    /**
     * Kills the agent (SIGKILL) and waits until it is gone.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void kill() throws InterruptedException {
        process.kill();
    }

    /**
     * Starts the agent again with the data it had. Does not wait until there is a leader.
     *
     * @throws IOException if it does not listen in time
     * @throws InterruptedException if interrupted while waiting
     */
    public void start() throws IOException, InterruptedException {
        process.start();
    }

    /**
     * Returns whether the agent answers and has a leader that can read and write.
     *
     * @return false as well if it is down or paused
     */
    public boolean isHealthy() {
        try {
            String body = "[{\"KV\":{\"Verb\":\"set\",\"Key\":\"holdfast-testkit/" + name + "\",\"Value\":\"\"}}]";
            return request("PUT", "/v1/txn", body, QUICK).contains("ModifyIndex");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Makes a request of Consul's HTTP API with all rights.
     *
     * @param method such as {@code GET}
     * @param path such as {@code /v1/kv/some/key}
     * @param body may be empty
     * @return the answer's body
     * @throws IOException if there is no answer, or one with status 400 or above but 404, for which it is empty
     */
    public String request(String method, String path, String body) throws IOException {
        return request(method, path, body, PATIENT);
    }

    /**
     * Counts the HTTP requests that the agent has answered. One that counts is counted by the next call.
     *
     * @return the number; forgotten when it restarts
     * @throws IOException if it does not answer
     */
    public long requests() throws IOException {
        long sum = 0;
        Matcher count = COUNT.matcher(request("GET", "/v1/agent/metrics?format=prometheus", ""));
        while (count.find()) {
            if (!count.group().contains("agent_metrics")) {
                sum += Long.parseLong(count.group(1));
            }
        }
        return sum;
    }

    String version() throws IOException {
        Matcher version = VERSION.matcher(request("GET", "/v1/agent/self", ""));
        return version.find() ? version.group(1) : "unknown";
    }

    /** While it does not run. */
    void deleteData() throws IOException {
        try (Stream<Path> files = Files.walk(process.environment().folder().resolve("data"))) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** For questions that are asked again. */
    String quickly(String path) throws IOException {
        return request("GET", path, "", QUICK);
    }

    private String request(String method, String path, String body, Duration timeout) throws IOException {
        URI uri = URI.create("http://" + process.host() + ":" + port() + path);
        HttpRequest.Builder request =
                HttpRequest.newBuilder(uri).timeout(timeout).method(method, HttpRequest.BodyPublishers.ofString(body));
        if (!token.isEmpty()) {
            request.header("X-Consul-Token", token);
        }
        try {
            HttpResponse<String> response = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() == 404) {
                return "";
            }
            if (response.statusCode() >= FIRST_ERROR) {
                throw new IOException(method + " " + uri + ": " + response.statusCode() + ", " + response.body());
            }
            return response.body();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while reading " + uri, e);
        }
    }

    /**
     * Returns the process that it runs in.
     *
     * @return the same one after a restart
     */
    public ServerProcess process() {
        return process;
    }

    @Override
    public String toString() {
        return process.toString();
    }
}
