package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** One Redis, or several independent masters for Redlock. Each writes its log before it answers. */
final class RedisMasters implements Cluster {
    private final List<RedisServer> servers;
    private final String version;

    private RedisMasters(List<RedisServer> servers, String version) {
        this.servers = servers;
        this.version = version;
    }

    static RedisMasters start(int count) throws IOException, InterruptedException {
        List<RedisServer> servers = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                servers.add(RedisServer.start("--appendonly", "yes", "--appendfsync", "always"));
            }
            return new RedisMasters(servers, servers.get(0).version());
        } catch (IOException | InterruptedException | RuntimeException e) {
            servers.forEach(RedisServer::close);
            throw e;
        }
    }

    @Override
    public String description() {
        return "Redis " + version + ", " + (servers.size() == 1 ? "one master" : servers.size() + " masters, Redlock")
                + ", appendfsync always";
    }

    @Override
    public List<Node> nodes() {
        return servers.stream().map(server -> Node.of(server.process())).toList();
    }

    @Override
    public String store(List<Integer> ports) {
        String uris = ports.stream().map(port -> "redis://127.0.0.1:" + port).collect(Collectors.joining("+"));
        return servers.size() == 1 ? uris : "redlock+" + uris;
    }

    @Override
    public boolean fair() {
        return servers.size() == 1;
    }

    @Override
    public RawWrite rawWrite(int port) throws IOException {
        return RawWrites.redis(port);
    }

    @Override
    public void close() {
        servers.forEach(RedisServer::close);
    }
}
