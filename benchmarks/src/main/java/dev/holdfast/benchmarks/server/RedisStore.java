package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Redis server without persistence. */
final class RedisStore implements Store {
    private static final Pattern CALLS = Pattern.compile("cmdstat_([^:]+):calls=(\\d+),usec=(\\d+)");
    /** Sent by clients, and never from inside a script. */
    private static final Set<String> FROM_CLIENTS = Set.of(
            "eval",
            "evalsha",
            "script|load",
            "subscribe",
            "unsubscribe",
            "psubscribe",
            "punsubscribe",
            "ssubscribe",
            "sunsubscribe",
            "ping",
            "wait");

    private final RedisServer server;

    private RedisStore(RedisServer server) {
        this.server = server;
    }

    static RedisStore start() throws IOException, InterruptedException {
        return new RedisStore(RedisServer.start());
    }

    @Override
    public String name() {
        return "redis";
    }

    @Override
    public String version() {
        try {
            return "Redis " + server.version();
        } catch (IOException e) {
            return "Redis";
        }
    }

    @Override
    public String address() {
        return "redis://" + server.host() + ":" + server.port();
    }

    @Override
    public String unit() {
        return "commands";
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        return sum(plainCommands, 2);
    }

    /** A script's time has that of what it calls in it. */
    @Override
    public double workMicros(Set<String> plainCommands) throws IOException {
        return sum(plainCommands, 3);
    }

    private long sum(Set<String> plainCommands, int group) throws IOException {
        long sum = 0;
        Matcher calls = CALLS.matcher(String.valueOf(server.command("INFO", "commandstats")));
        while (calls.find()) {
            if (FROM_CLIENTS.contains(calls.group(1)) || plainCommands.contains(calls.group(1))) {
                sum += Long.parseLong(calls.group(group));
            }
        }
        return sum;
    }

    @Override
    public void close() {
        server.close();
    }
}
