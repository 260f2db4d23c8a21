package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.ConsulServer;
import java.io.IOException;
import java.util.Set;

/** A single Consul server, which writes to its disk. */
final class ConsulStore implements Store {
    private final ConsulServer server;

    private ConsulStore(ConsulServer server) {
        this.server = server;
    }

    static ConsulStore start() throws IOException, InterruptedException {
        return new ConsulStore(ConsulServer.start());
    }

    @Override
    public String name() {
        return "consul";
    }

    @Override
    public String version() {
        return "Consul " + server.version();
    }

    @Override
    public String address() {
        return "consul://127.0.0.1:" + server.agent().port();
    }

    @Override
    public String unit() {
        return "requests";
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        return server.agent().requests();
    }

    @Override
    public void close() {
        server.close();
    }
}
