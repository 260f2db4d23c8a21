package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.EtcdServer;
import java.io.IOException;
import java.util.Set;

/** A single etcd node. */
final class EtcdStore implements Store {
    private final EtcdServer server;

    private EtcdStore(EtcdServer server) {
        this.server = server;
    }

    static EtcdStore start() throws IOException, InterruptedException {
        return new EtcdStore(EtcdServer.start());
    }

    @Override
    public String name() {
        return "etcd";
    }

    @Override
    public String version() {
        return "etcd " + server.version();
    }

    @Override
    public String address() {
        return "etcd://" + server.hostsAndPorts();
    }

    @Override
    public String unit() {
        return "messages";
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        return server.sum("grpc_server_msg_received_total", "");
    }

    @Override
    public void close() {
        server.close();
    }
}
