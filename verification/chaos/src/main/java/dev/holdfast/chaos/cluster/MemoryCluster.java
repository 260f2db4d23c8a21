package dev.holdfast.chaos.cluster;

import dev.holdfast.chaos.memory.MemoryServer;
import dev.holdfast.chaos.memory.RemoteBackend;
import dev.holdfast.chaos.mutant.Mutants;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.util.List;

/** The testkit's memory store in a process of its own. */
final class MemoryCluster implements Cluster {
    private final ServerProcess server;
    private final boolean ordered;

    private MemoryCluster(ServerProcess server, boolean ordered) {
        this.server = server;
        this.ordered = ordered;
    }

    static MemoryCluster start(String mutant) throws IOException, InterruptedException {
        ServerProcess server = ServerProcess.builder("memory")
                .command(
                        environment -> JavaProcess.command("128m", MemoryServer.class, "" + environment.port(), mutant))
                .start();
        // Who learns too late that it was handed the lock has lost its turn.
        return new MemoryCluster(server, Mutants.handedMillis(mutant) == 0);
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
        return ordered;
    }

    @Override
    public boolean fair() {
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
