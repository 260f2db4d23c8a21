package dev.holdfast.chaos.cluster;

import dev.holdfast.chaos.memory.MemoryServer;
import dev.holdfast.chaos.memory.RemoteBackend;
import dev.holdfast.lock.testkit.server.ServerProcess;
import java.io.IOException;
import java.util.List;

/** The testkit's memory store in a process of its own. */
final class MemoryCluster implements Cluster {
    private final ServerProcess server;

    private MemoryCluster(ServerProcess server) {
        this.server = server;
    }

    static MemoryCluster start(String mutant) throws IOException, InterruptedException {
        return new MemoryCluster(ServerProcess.builder("memory")
                .command(
                        environment -> JavaProcess.command("128m", MemoryServer.class, "" + environment.port(), mutant))
                .start());
    }

    @Override
    public String description() {
        return "memory store behind TCP";
    }

    @Override
    public List<Node> nodes() {
        return List.of(Node.of(server));
    }

    @Override
    public String store(List<Integer> ports) {
        return RemoteBackend.SCHEME + ports.get(0);
    }

    @Override
    public boolean killable() {
        return false;
    }

    @Override
    public boolean fifo() {
        return true;
    }

    @Override
    public RawWrite rawWrite(int port) throws IOException {
        return RawWrites.memory(port, RemoteBackend.HOLDER);
    }

    @Override
    public void close() {
        server.close();
    }
}
