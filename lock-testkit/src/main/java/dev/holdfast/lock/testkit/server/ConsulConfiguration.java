package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import dev.holdfast.lock.testkit.server.process.Machine;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** How the agents of a {@link ConsulServer} are started: their places, and what their configuration files say. */
final class ConsulConfiguration {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String BINARY_PROPERTY = "holdfast.consul.binary";
    private static final int PORTS = 4;

    private ConsulConfiguration() {}

    /** What the agents have beyond their places. */
    record Security(
            String token,
            @Nullable Path certificate,
            @Nullable Path key) {
        static final Security NONE = new Security("", null, null);
    }

    /** Where an agent is, and its port for the others. */
    private record Place(@Nullable Machine machine, int gossip) {
        String addressSeenBy(ServerEnvironment other) {
            return (machine == null ? other.host() : machine.address()) + ":" + gossip;
        }
    }

    /**
     * Starts a number of servers and, if there are several, an agent behind them. Does not wait for a leader.
     *
     * @param network has a machine for each server, of which the first has the agent as well; null for this machine
     */
    static List<ConsulNode> startNodes(int count, Security security, @Nullable ServerNetwork network)
            throws IOException, InterruptedException {
        ServerImage image = network == null ? ServerImage.chosen("consul").orElse(null) : null;
        List<Place> places = IntStream.rangeClosed(0, count == 1 ? 0 : count)
                .mapToObj(i -> new Place(network == null ? null : network.machine(i % count), LoopbackPorts.next()))
                .toList();
        List<ConsulNode> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < places.size(); i++) {
                nodes.add(node(i < count ? "s" + i : "agent", i < count ? count : 0, places, i, image, security));
            }
            return nodes;
        } catch (IOException | InterruptedException | RuntimeException e) {
            nodes.forEach(node -> node.process().close());
            throw e;
        }
    }

    private static ConsulNode node(
            String name, int servers, List<Place> places, int number, @Nullable ServerImage image, Security security)
            throws IOException, InterruptedException {
        ServerProcess.Builder process = ServerProcess.builder("consul-" + name)
                .image(image)
                .on(places.get(number).machine())
                .ports(PORTS)
                .patience(PATIENCE)
                .prepare(environment -> environment.write(
                        "agent.json", configuration(name, servers, places, number, image, security, environment)))
                .command(environment -> List.of(
                        binary(environment),
                        "agent",
                        "-config-file",
                        environment.folder().resolve("agent.json").toString()));
        if (security.certificate() != null && security.key() != null) {
            process.reads(security.certificate()).reads(security.key());
        }
        return new ConsulNode(name, process.start(), security.token());
    }

    /** What a command line of Consul begins with. */
    static String binary(ServerEnvironment environment) {
        String chosen = System.getProperty(BINARY_PROPERTY);
        return chosen != null
                ? chosen
                : environment.program("consul", System.getProperty("user.home") + "/.cache/holdfast/consul/usr/bin");
    }

    private static String configuration(
            String name,
            int servers,
            List<Place> places,
            int number,
            @Nullable ServerImage image,
            Security security,
            ServerEnvironment environment) {
        String others = IntStream.range(0, places.size())
                .filter(i -> i != number)
                .mapToObj(i -> "\"" + places.get(i).addressSeenBy(environment) + "\"")
                .collect(Collectors.joining(","));
        StringBuilder json = new StringBuilder("{\n");
        json.append("\"node_name\": \"").append(name).append("\",\n");
        json.append("\"bind_addr\": \"").append(environment.host()).append("\",\n");
        json.append("\"client_addr\": \"").append(environment.host()).append("\",\n");
        json.append("\"data_dir\": \"")
                .append(environment.folder().resolve("data"))
                .append("\",\n");
        json.append("\"retry_join\": [").append(others).append("], \"retry_interval\": \"1s\",\n");
        json.append("\"leave_on_terminate\": false, \"skip_leave_on_interrupt\": true,\n");
        json.append(
                "\"disable_update_check\": true, \"session_ttl_min\": \"1s\", \"performance\": {\"raft_multiplier\": 1},\n");
        // Otherwise a server that pauses for some seconds loses its vote, and has it again about ten seconds after it
        // has come
        // back: when another one dies meanwhile, two thirds of the servers are there and no majority.
        json.append("\"autopilot\": {\"cleanup_dead_servers\": false},\n");
        json.append("\"telemetry\": {\"prometheus_retention_time\": \"2h\", \"disable_hostname\": true},\n");
        if (servers > 0) {
            json.append("\"server\": true, \"bootstrap_expect\": ")
                    .append(servers)
                    .append(",\n");
        }
        if (!security.token().isEmpty()) {
            json.append("\"acl\": {\"enabled\": true, \"default_policy\": \"deny\", \"tokens\": {\"master\": \"")
                    .append(security.token())
                    .append("\"}},\n");
        }
        if (security.certificate() != null) {
            json.append("\"cert_file\": \"").append(security.certificate()).append("\",\n");
            json.append("\"key_file\": \"").append(security.key()).append("\",\n");
        }
        json.append("\"ports\": {\"dns\": -1, \"grpc\": -1, \"serf_wan\": -1,");
        json.append(image == null ? "" : " \"grpc_tls\": -1,"); // newer versions only
        json.append(" \"http\": ").append(environment.port());
        json.append(", \"server\": ").append(environment.port(1));
        json.append(", \"https\": ").append(security.certificate() == null ? -1 : environment.port(2));
        return json.append(", \"serf_lan\": ")
                .append(places.get(number).gossip())
                .append("}\n}\n")
                .toString();
    }
}
