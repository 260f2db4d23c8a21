package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.Machine;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ServerNetworkTest {
    private static final int TRIES = 100;

    @Test
    void aCutLosesWhatIsSentOneWayAndNothingElse() throws Exception {
        assumeTrue(
                ServerNetwork.missing().isEmpty(),
                () -> "no machines of their own here: "
                        + ServerNetwork.missing().orElse(""));
        try (ServerNetwork network = ServerNetwork.start(3)) {
            awaitReached(network, 0, 1);
            network.cut(0, 1);

            assertThat(reached(network, 0, 1)).as("0 to 1, cut").isFalse();
            assertThat(reached(network, 1, 0)).as("1 to 0").isTrue();
            assertThat(reached(network, 0, 2)).as("0 to 2").isTrue();
            assertThat(reachedFromHere(network, 0)).as("a client to 0").isTrue();
            assertThat(reachedFromHere(network, 1)).as("a client to 1").isTrue();

            network.mend();
            awaitReached(network, 0, 1);
        }
    }

    @Test
    void nothingStaysBehind() throws Exception {
        assumeTrue(
                ServerNetwork.missing().isEmpty(),
                () -> "no machines of their own here: "
                        + ServerNetwork.missing().orElse(""));
        // Links of other tests' networks may be about to go.
        awaitLinks(false);
        try (ServerNetwork network = ServerNetwork.start(1)) {
            assertThat(links()).as(network.toString()).isTrue();
        }
        awaitLinks(false);
    }

    private static boolean links() throws Exception {
        return run(List.of("ip", "-o", "link", "show"))
                .contains("hf" + ProcessHandle.current().pid() + "-");
    }

    private static void awaitLinks(boolean there) throws Exception {
        for (int i = 0; i < TRIES && links() != there; i++) {
            TimeUnit.MILLISECONDS.sleep(50);
        }
        assertThat(links()).as("links of networks of this process").isEqualTo(there);
    }

    private static void awaitReached(ServerNetwork network, int from, int to) throws Exception {
        for (int i = 0; i < TRIES; i++) {
            if (reached(network, from, to)) {
                return;
            }
        }
        throw new AssertionError(from + " does not reach " + to + " of " + network);
    }

    /** A datagram to a port without a listener counts where it arrives. */
    private static boolean reached(ServerNetwork network, int from, int to) throws Exception {
        long before = arrived(network, to);
        in(
                network,
                from,
                "bash",
                "-c",
                "echo x > /dev/udp/" + network.machine(to).address() + "/9");
        return arrivedSince(network, to, before);
    }

    private static boolean reachedFromHere(ServerNetwork network, int to) throws Exception {
        long before = arrived(network, to);
        try (DatagramSocket socket = new DatagramSocket()) {
            InetAddress address = InetAddress.getByName(network.machine(to).address());
            socket.send(new DatagramPacket(new byte[1], 1, address, 9));
        }
        return arrivedSince(network, to, before);
    }

    private static boolean arrivedSince(ServerNetwork network, int to, long before) throws Exception {
        for (int i = 0; i < 10; i++) {
            if (arrived(network, to) > before) {
                return true;
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
        return false;
    }

    private static long arrived(ServerNetwork network, int machine) throws Exception {
        List<String> udp = in(network, machine, "cat", "/proc/net/snmp")
                .lines()
                .filter(line -> line.startsWith("Udp:"))
                .toList();
        int index = List.of(udp.get(0).split(" ")).indexOf("NoPorts");
        return Long.parseLong(udp.get(1).split(" ")[index]);
    }

    private static String in(ServerNetwork network, int machine, String... command) throws Exception {
        List<String> all =
                new ArrayList<>(Machine.enter(network.machine(machine).holder()));
        all.addAll(List.of(command));
        return run(all);
    }

    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(command + ": " + text).isZero();
        return text;
    }
}
