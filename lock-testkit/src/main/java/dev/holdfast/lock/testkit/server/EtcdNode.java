package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One etcd process of an {@link EtcdServer}.
 *
 * <p>Thread-safe.
 */
public final class EtcdNode {
    private static final Duration QUICK = Duration.ofSeconds(3);
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();

    private static final Pattern VERSION = Pattern.compile("etcd_server_version\\{server_version=\"([^\"]+)\"");

    private final ServerProcess process;
    private final String scheme;

    EtcdNode(ServerProcess process, String scheme) {
        this.process = process;
        this.scheme = scheme;
    }

    /**
     * Returns where clients connect.
     *
     * @return for example {@code http://127.0.0.1:23790}
     */
    public String endpoint() {
        return scheme + "://" + process.host() + ":" + port();
    }

    /**
     * Returns the address for clients.
     *
     * @return {@code 127.0.0.1}, or that of its machine
     */
    public String host() {
        return process.host();
    }

    /**
     * Returns the port for clients.
     *
     * @return the port, the same after a restart
     */
    public int port() {
        return process.port();
    }

    /** Freezes the node (SIGSTOP). */
    public void pause() {
        process.pause();
    }

    /** Ends {@link #pause()} (SIGCONT). */
    public void resume() {
        process.resume();
    }

    /**
     * Kills the node (SIGKILL) and waits until it is gone.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void kill() throws InterruptedException {
        process.kill();
    }

    /**
     * Starts the node again with the data it had. Does not wait until it has found a leader.
     *
     * @throws IOException if it does not listen in time
     * @throws InterruptedException if interrupted while waiting
     */
    public void start() throws IOException, InterruptedException {
        process.start();
    }

    /**
     * Tells whether the node answers, has a leader and can write.
     *
     * @return false as well if it is down or paused
     */
    public boolean isHealthy() {
        try {
            return get("/health", QUICK).replace(" ", "").contains("\"health\":\"true\"");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Returns whether the node claims to be the leader.
     *
     * @return false as well if it is down or paused
     */
    public boolean isLeader() {
        try {
            return sum(get("/metrics", QUICK), "etcd_server_is_leader", "") == 1;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Adds up the samples of a metric.
     *
     * @param metric its name, such as {@code grpc_server_started_total}
     * @param label a text that the sample's labels contain, such as {@code grpc_method="Txn"}; empty for all samples
     * @return the sum, 0 if there is no such sample
     * @throws IOException if the node does not answer
     */
    public long sum(String metric, String label) throws IOException {
        return sum(get("/metrics", PATIENT), metric, label);
    }

    private static long sum(String metrics, String metric, String label) {
        double sum = 0;
        for (String line : metrics.split("\n")) {
            boolean named = line.startsWith(metric + "{") || line.startsWith(metric + " ");
            if (named && line.contains(label)) {
                sum += Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
            }
        }
        return Math.round(sum);
    }

    /** What its metrics say, which needs no program other than the server. */
    String version() throws IOException {
        Matcher version = VERSION.matcher(get("/metrics", PATIENT));
        return version.find() ? version.group(1) : "unknown";
    }

    private String get(String path, Duration timeout) throws IOException {
        URI uri = URI.create(
                "http://" + process.host() + ":" + process.environment().port(1) + path);
        HttpRequest request = HttpRequest.newBuilder(uri).timeout(timeout).build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
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
