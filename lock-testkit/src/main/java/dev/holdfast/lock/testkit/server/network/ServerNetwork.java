package dev.holdfast.lock.testkit.server.network;

import dev.holdfast.lock.testkit.server.process.Machine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Machines with addresses of their own, for servers that can be cut off from each other while their clients on this
 * machine still reach all of them. Each is a network namespace of Linux; a bridge in one more namespace joins them.
 *
 * <pre>{@code
 * try (ServerNetwork network = ServerNetwork.start(3);
 *         EtcdServer etcd = EtcdServer.startCluster(network)) {
 *     network.cut(0, 1); // what server 0 sends to server 1 is lost, and not the other way round
 *     …
 *     network.mend();
 * }
 * }</pre>
 *
 * <p>What is cut is lost without a word: the sender knows a link address for its peer that no machine has. Packets are lost, so the
 * acknowledgements of what arrives the other way are lost as well, and a connection over a one-way cut stalls after a while, as
 * in a real network.
 *
 * <p>The namespaces live as long as processes that end with this JVM, killed or not; nothing stays behind. Needs Linux, the user
 * root, and the programs {@code ip}, {@code unshare} and {@code nsenter}; {@link #missing()} reports what is missing.
 *
 * <p>Thread-safe.
 */
public final class ServerNetwork implements AutoCloseable {
    private static final String NOBODY = "02:00:00:00:00:01";
    private static final int TRIES = 20;
    private static final int FIRST_HOST = 11;
    private static final long PATIENCE_SECONDS = 30;
    private static final AtomicInteger NETWORKS = new AtomicInteger();

    private final List<Process> holders = new ArrayList<>();
    private final List<Machine> machines = new ArrayList<>();
    private final Set<Cut> cuts = ConcurrentHashMap.newKeySet();
    private final String prefix;

    private record Cut(int from, int to) {}

    /** Why there is none on this machine, found out once. */
    private static final class Missing {
        static final Optional<String> WHY = find();

        private static Optional<String> find() {
            if (!System.getProperty("os.name").equals("Linux")) {
                return Optional.of("network namespaces need Linux");
            }
            try (ServerNetwork network = start(2)) {
                network.cut(0, 1);
                network.mend();
                return Optional.empty();
            } catch (IOException e) {
                return Optional.of(
                        String.valueOf(e.getMessage()).lines().findFirst().orElse("unknown"));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Optional.of("interrupted");
            }
        }
    }

    private ServerNetwork(String prefix) {
        this.prefix = prefix;
    }

    /**
     * Tells why this machine has no such networks, by trying once.
     *
     * @return the reason for people; empty if {@link #start} works
     */
    public static Optional<String> missing() {
        return Missing.WHY;
    }

    /**
     * Starts machines that reach each other and this one.
     *
     * @param machines how many, from 1 to 100
     * @return the network
     * @throws IOException if that is not possible here; the message says why
     * @throws InterruptedException if interrupted while waiting
     */
    public static ServerNetwork start(int machines) throws IOException, InterruptedException {
        ServerNetwork network = new ServerNetwork(freePrefix());
        try {
            network.launch(machines);
            return network;
        } catch (IOException | InterruptedException | RuntimeException e) {
            network.close();
            throw e;
        }
    }

    /** The beginning of a free network's addresses, from the range for tests of networks (RFC 2544). */
    private static String freePrefix() throws IOException, InterruptedException {
        String taken = run(List.of("ip", "-4", "addr", "show")) + run(List.of("ip", "-4", "route", "show"));
        for (int i = 0; i < TRIES; i++) {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            String prefix = "198." + random.nextInt(18, 20) + "." + random.nextInt(256) + ".";
            if (!taken.contains(prefix)) {
                return prefix;
            }
        }
        throw new IOException("no free network in 198.18.0.0/15");
    }

    private void launch(int count) throws IOException, InterruptedException {
        long hub = hold();
        String here = "hf" + ProcessHandle.current().pid() + "-" + NETWORKS.incrementAndGet();
        in(hub, "ip", "link", "add", "name", "bridge0", "type", "bridge");
        in(hub, "ip", "link", "set", "dev", "bridge0", "up");
        run(List.of("ip", "link", "add", "name", here, "type", "veth", "peer", "name", "port0", "netns", "" + hub));
        run(List.of("ip", "addr", "add", prefix + "1/24", "dev", here));
        run(List.of("ip", "link", "set", "dev", here, "up"));
        in(hub, "ip", "link", "set", "dev", "port0", "master", "bridge0", "up");
        for (int i = 0; i < count; i++) {
            long machine = hold();
            String port = "port" + (i + 1);
            List<String> link = List.of("ip", "link", "add", "name", port, "netns", "" + hub, "type", "veth");
            List<String> all = new ArrayList<>(link);
            all.addAll(List.of("peer", "name", "eth0", "netns", "" + machine));
            run(all);
            in(hub, "ip", "link", "set", "dev", port, "master", "bridge0", "up");
            String address = prefix + (FIRST_HOST + i);
            in(machine, "ip", "link", "set", "dev", "lo", "up");
            in(machine, "ip", "addr", "add", address + "/24", "dev", "eth0");
            in(machine, "ip", "link", "set", "dev", "eth0", "up");
            machines.add(new Machine(machine, address));
        }
    }

    /** Keeps a new namespace until its standard input ends, which a killed JVM cannot prevent. */
    private long hold() throws IOException {
        Process holder = new ProcessBuilder("unshare", "--net", "sh", "-c", "echo ready; exec cat")
                .redirectErrorStream(true)
                .start();
        holders.add(holder);
        String first = holder.inputReader(StandardCharsets.UTF_8).readLine();
        if (!"ready".equals(first)) {
            throw new IOException("no network namespace: " + first);
        }
        return holder.pid();
    }

    /**
     * How many machines there are.
     *
     * @return what {@link #start} was asked for
     */
    public int size() {
        return machines.size();
    }

    /**
     * One of the machines.
     *
     * @param index from 0
     * @return where a server may run
     */
    public Machine machine(int index) {
        return machines.get(index);
    }

    /**
     * Loses all that one machine sends to another, until {@link #mend()}. What the other one sends arrives.
     *
     * @param from index of the sender
     * @param to index of the receiver
     * @throws IOException if that fails
     * @throws InterruptedException if interrupted
     */
    public void cut(int from, int to) throws IOException, InterruptedException {
        cuts.add(new Cut(from, to));
        in(machines.get(from).holder(), neighbour("replace", to, "lladdr", NOBODY, "nud", "permanent"));
    }

    /**
     * Ends all cuts.
     *
     * @throws IOException if that fails
     * @throws InterruptedException if interrupted
     */
    public void mend() throws IOException, InterruptedException {
        for (Cut cut : Set.copyOf(cuts)) {
            cuts.remove(cut);
            in(machines.get(cut.from()).holder(), neighbour("del", cut.to()));
        }
    }

    private String[] neighbour(String action, int to, String... rest) {
        List<String> command =
                new ArrayList<>(List.of("ip", "neigh", action, machines.get(to).address(), "dev", "eth0"));
        command.addAll(List.of(rest));
        return command.toArray(String[]::new);
    }

    private static void in(long holder, String... command) throws IOException, InterruptedException {
        List<String> full = new ArrayList<>(Machine.enter(holder));
        full.addAll(List.of(command));
        run(full);
    }

    private static String run(List<String> command) throws IOException, InterruptedException {
        Path output = Files.createTempFile("holdfast-", ".out");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            String text = Files.readString(output);
            if (!ended || process.exitValue() != 0) {
                throw new IOException("'" + String.join(" ", command) + "' failed: " + text.strip());
            }
            return text;
        } finally {
            Files.deleteIfExists(output);
        }
    }

    /** Ends the network; servers on it have to be closed before. Idempotent. */
    @Override
    public void close() {
        holders.forEach(Process::destroyForcibly);
    }

    @Override
    public String toString() {
        return machines.size() + " machines on " + prefix + "0/24";
    }
}
