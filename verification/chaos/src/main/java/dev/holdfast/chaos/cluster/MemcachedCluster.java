package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.io.IOException;
import java.util.List;

/** One memcached, which loses all locks when it is killed: exclusion is judged away from that. */
final class MemcachedCluster implements Cluster {
    private final MemcachedServer server;
    private final String version;

    private MemcachedCluster(MemcachedServer server, String version) {
        this.server = server;
        this.version = version;
    }

    static MemcachedCluster start() throws IOException, InterruptedException {
        MemcachedServer server = MemcachedServer.start();
        try {
            return new MemcachedCluster(server, server.version());
        } catch (IOException e) {
            server.close();
            throw e;
        }
    }

    @Override
    public String description() {
        return "memcached " + version + ", one server";
    }

    @Override
    public List<Node> nodes() {
        return List.of(Node.of(server.process()));
    }

    @Override
    public String store(List<Integer> ports) {
        return "memcached://127.0.0.1:" + ports.get(0);
    }

    @Override
    public boolean exclusive() {
        return false;
    }

    @Override
    public RawWrite rawWrite(int port) throws IOException {
        return RawWrites.memcached(port);
    }

    @Override
    public void close() {
        server.close();
    }
}
