package dev.holdfast.chaos;

import dev.holdfast.chaos.client.ClientConfig;
import dev.holdfast.chaos.client.ClientMain;
import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.cluster.JavaProcess;
import dev.holdfast.chaos.cluster.Node;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The client processes of a run, each behind proxies of its own. Faults on one client come one after the other. */
final class Clients implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private final RunPlan plan;
    private final Cluster cluster;
    private final Register register;
    private final Path folder;
    private final List<List<FaultProxy>> proxies = new ArrayList<>();
    private final AtomicReferenceArray<ServerProcess> processes;
    private final int[] incarnations;

    Clients(RunPlan plan, Cluster cluster, Register register, Path folder) throws IOException {
        this.plan = plan;
        this.cluster = cluster;
        this.register = register;
        this.folder = folder;
        int count = plan.profile().clients();
        this.processes = new AtomicReferenceArray<>(count);
        this.incarnations = new int[count];
        for (int i = 0; i < count; i++) {
            List<FaultProxy> ofClient = new ArrayList<>();
            for (Node node : cluster.nodes()) {
                ofClient.add(FaultProxy.to(node.host(), node.port()));
            }
            proxies.add(ofClient);
        }
    }

    int size() {
        return proxies.size();
    }

    /** The proxies of one client, one a node. */
    List<FaultProxy> ofClient(int client) {
        return proxies.get(client);
    }

    /** How many requests a client and its predecessors have sent. */
    long requests(int client) {
        return ofClient(client).stream().mapToLong(FaultProxy::piecesToServer).sum();
    }

    /** The proxies of all clients to one node. */
    List<FaultProxy> ofNode(int node) {
        return proxies.stream().map(ofClient -> ofClient.get(node)).toList();
    }

    void startAll() throws IOException, InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(size());
        try {
            List<Callable<Boolean>> starts = new ArrayList<>();
            for (int i = 0; i < size(); i++) {
                int client = i;
                starts.add(() -> {
                    start(client);
                    return true;
                });
            }
            for (Future<Boolean> started : pool.invokeAll(starts)) {
                started.get();
            }
        } catch (ExecutionException e) {
            throw new IOException("a client did not start", e.getCause());
        } finally {
            pool.shutdown();
        }
    }

    /** Starts a client and waits until it is at work. */
    void start(int client) throws IOException, InterruptedException {
        Profile profile = plan.profile();
        Operation.Process number = new Operation.Process(client, incarnations[client]);
        ClientConfig config = new ClientConfig(
                number,
                cluster.store(ofClient(client).stream().map(FaultProxy::port).toList()),
                folder,
                plan.seed(),
                profile.threads(),
                profile.names(),
                cluster.fair() ? profile.fifoNames() : 0,
                profile.leaseMillis(),
                profile.longPercent(),
                register.port(),
                plan.mutant(),
                plan.workload());
        List<String> arguments = new ArrayList<>(List.of(
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=" + plan.logLevel(),
                "-Dorg.slf4j.simpleLogger.showDateTime=true",
                "-Dorg.slf4j.simpleLogger.logFile=" + folder.resolve("client-" + number + ".log")));
        arguments.addAll(config.arguments());
        processes.set(
                client,
                ServerProcess.builder("client-" + client)
                        .command(environment ->
                                JavaProcess.command("256m", ClientMain.class, arguments.toArray(String[]::new)))
                        .ready(environment -> {
                            if (register.incarnation(client) < number.incarnation()) {
                                throw new IOException("client " + number + " is not at work yet");
                            }
                        })
                        .patience(PATIENCE)
                        .start());
    }

    /** Who of these gets a lock keeps it until that time from now is over, or it is lost. */
    void stay(Collection<Integer> who, long millis) {
        register.stay(who, millis);
    }

    void pause(int client) {
        processes.get(client).pause();
    }

    void resume(int client) {
        processes.get(client).resume();
    }

    void kill(int client) throws InterruptedException {
        processes.get(client).kill();
    }

    void replace(int client) throws IOException, InterruptedException {
        processes.get(client).close();
        incarnations[client]++;
        start(client);
    }

    /** Tells all clients to stop, and waits for them. Returns those that did not end in time. */
    List<Integer> stopAll() throws InterruptedException {
        register.stopClients();
        long start = System.nanoTime();
        List<Integer> late = new ArrayList<>();
        for (int i = 0; i < size(); i++) {
            while (processes.get(i).isAlive() && System.nanoTime() - start < PATIENCE.toNanos()) {
                Thread.sleep(20);
            }
            if (processes.get(i).isAlive()) {
                late.add(i);
            }
        }
        return late;
    }

    /** What the clients complained about. */
    String logs() throws IOException {
        StringBuilder logs = new StringBuilder();
        for (int client = 0; client < size(); client++) {
            for (int i = 0; i <= incarnations[client]; i++) {
                Path log = folder.resolve("client-" + new Operation.Process(client, i) + ".log");
                if (Files.exists(log)) {
                    logs.append(Files.readString(log));
                }
            }
        }
        return logs.toString();
    }

    /** The file of a client's present process. */
    Path history(int client) {
        return folder.resolve(History.file(new Operation.Process(client, incarnations[client])));
    }

    @Override
    public void close() {
        for (int i = 0; i < size(); i++) {
            ServerProcess process = processes.get(i);
            if (process != null) {
                process.close();
            }
        }
        proxies.forEach(ofClient -> ofClient.forEach(FaultProxy::close));
    }
}
