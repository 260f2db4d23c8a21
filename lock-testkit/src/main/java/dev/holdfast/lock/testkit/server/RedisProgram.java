package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The command lines of Redis and Valkey, and the probe that succeeds when they answer. */
final class RedisProgram {

    private RedisProgram() {}

    /** A server without persistence, with two ports. */
    static ServerProcess.Builder server(@Nullable ServerImage image, ServerProcess.Command options, String... login) {
        return ServerProcess.builder("redis")
                .image(image)
                .ports(2)
                .ready(environment -> ping(environment, login))
                .command(environment -> {
                    List<String> command = new ArrayList<>(List.of(
                            program(image, environment),
                            "--port",
                            "" + environment.port(),
                            "--bind",
                            environment.host(),
                            "--dir",
                            environment.folder().toString(),
                            "--save",
                            "",
                            "--repl-diskless-sync-delay",
                            "0",
                            "--daemonize",
                            "no"));
                    command.addAll(options.of(environment));
                    return command;
                });
    }

    /** Options of a node of a cluster, and more of them. */
    static List<String> clusterNode(ServerEnvironment environment, String... options) {
        List<String> all = new ArrayList<>(List.of("--cluster-enabled", "yes"));
        all.addAll(List.of("--cluster-port", "" + environment.port(1), "--cluster-node-timeout", "2000"));
        all.addAll(List.of(options));
        return all;
    }

    /** A Sentinel with that configuration. */
    static ServerProcess.Builder sentinel(@Nullable ServerImage image, String config) {
        return ServerProcess.builder("sentinel")
                .image(image)
                .prepare(environment -> environment.write("sentinel.conf", config))
                .ready(RedisProgram::ping)
                .command(environment -> List.of(
                        program(image, environment),
                        environment.folder().resolve("sentinel.conf").toString(),
                        "--sentinel",
                        "--port",
                        "" + environment.port(),
                        "--bind",
                        environment.host(),
                        "--dir",
                        environment.folder().toString()));
    }

    /** Takes the master for dead after that silence. */
    static String watching(String group, String host, int port, int quorum, Duration silence) {
        return "sentinel monitor " + group + " " + host + " " + port + " " + quorum
                + "\nsentinel down-after-milliseconds " + group + " " + silence.toMillis()
                + "\nsentinel failover-timeout " + group + " 3000\nsentinel parallel-syncs " + group + " 1\n";
    }

    /** Options of an encrypted port next to the plain one. */
    static List<String> tls(ServerEnvironment environment, Path certificate, Path key) {
        return List.of(
                "--tls-port", "" + environment.port(1),
                "--tls-cert-file", certificate.toString(),
                "--tls-key-file", key.toString(),
                "--tls-ca-cert-file", certificate.toString(),
                "--tls-auth-clients", "no");
    }

    /** The environment variable HOLDFAST_REDIS_SERVER selects another program of this machine. */
    private static String program(@Nullable ServerImage image, ServerEnvironment environment) {
        if (image != null) {
            return image.name().contains("valkey") ? "valkey-server" : "redis-server";
        }
        String chosen = System.getenv("HOLDFAST_REDIS_SERVER");
        if (chosen != null && !chosen.isEmpty()) {
            return chosen;
        }
        return environment.program(List.of("redis-server", "valkey-server"));
    }

    private static void ping(ServerEnvironment environment, String... login) throws IOException {
        try (RespConnection connection = new RespConnection(environment.host(), environment.port())) {
            if (login.length > 0) {
                connection.command(login);
            }
            connection.command("PING");
        }
    }
}
