package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

    private static final int PATIENT_MILLIS = 20_000;
    /** For an answer that does not come. */
    private static final int BRIEF_MILLIS = 300;

    private LineServer server;
    private FaultProxy proxy;

    @BeforeEach
    void start() throws IOException {
        server = new LineServer(0);
        proxy = FaultProxy.to("127.0.0.1", server.port());
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        server.close();
    }

    @Test
    void pass_manyRequests_answersEach() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            for (int i = 0; i < 500; i++) {
                assertThat(client.ask("line " + i)).isEqualTo("echo line " + i);
            }
        }
        await().atMost(Duration.ofSeconds(20)).until(() -> proxy.connections() == 0);
    }

    @Test
    void hold_thenPass_deliversInOrder() throws Exception {
        try (LineServer.Client client = client(BRIEF_MILLIS)) {
            proxy.hold(Direction.TO_CLIENT);
            client.send("one");
            client.send("two");
            assertThatThrownBy(client::receive).isInstanceOf(SocketTimeoutException.class);
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(server.received()).containsExactly("one", "two"));
            client.patience(PATIENT_MILLIS);
            proxy.pass();
            assertThat(client.receive()).isEqualTo("echo one");
            assertThat(client.receive()).isEqualTo("echo two");
        }
    }

    @Test
    void blackHole_thenPass_resetsTheTornConnection() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("first")).isEqualTo("echo first");
            proxy.blackHole(Direction.TO_SERVER);
            client.patience(10 * BRIEF_MILLIS); // until the proxy has read it
            assertThatThrownBy(() -> client.ask("lost")).isInstanceOf(SocketTimeoutException.class);
            client.patience(PATIENT_MILLIS);
            proxy.pass();
            assertThatThrownBy(() -> client.ask("on the same connection")).isInstanceOf(SocketException.class);
        }
        assertThat(server.received()).containsExactly("first");
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("new")).isEqualTo("echo new");
        }
    }

    @Test
    void latency_delaysEachPieceFromItsArrival() throws Exception {
        proxy.latency(Direction.TO_SERVER, Duration.ofMillis(120));
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            long startNanos = System.nanoTime();
            assertThat(client.ask("slow")).isEqualTo("echo slow");
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).isGreaterThan(Duration.ofMillis(115));
        }
    }

    @Test
    void resetAll_isSeenByBothSides() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            proxy.resetAll();
            assertThatThrownBy(client::receive).isInstanceOf(SocketException.class);
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(
                            () -> assertThat(server.ends()).singleElement().isInstanceOf(SocketException.class));
        }
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("after")).isEqualTo("echo after");
        }
    }

    @Test
    void cut_refusesUntilPass() throws Exception {
        proxy.cut();
        assertThatThrownBy(() -> {
                    try (LineServer.Client client = client(PATIENT_MILLIS)) {
                        assertThat(client.ask("cut off")).isEqualTo("end of stream");
                        throw new IOException("ended");
                    }
                })
                .isInstanceOf(IOException.class);
        proxy.pass();
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("healed")).isEqualTo("echo healed");
        }
        assertThat(server.received()).containsExactly("healed");
    }

    @Test
    void halfOpen_serverGone_clientIsToldNothing() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            proxy.halfOpen(Direction.TO_SERVER);
            await().atMost(Duration.ofSeconds(20)).until(() -> server.ends().size() == 1);
            client.patience(BRIEF_MILLIS);
            assertThatThrownBy(() -> client.ask("into the void")).isInstanceOf(SocketTimeoutException.class);
        }
    }

    @Test
    void halfOpen_clientGone_serverIsToldNothing() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            proxy.halfOpen(Direction.TO_CLIENT);
            assertThatThrownBy(client::receive).isInstanceOf(SocketException.class);
            assertThat(server.ends()).isEmpty();
        }
    }

    @Test
    void dropRepliesAfter_carriesOutWhatTheClientNeverHearsOf() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            proxy.dropRepliesAfter(2);
            assertThat(client.ask("one")).isEqualTo("echo one");
            assertThat(client.ask("two")).isEqualTo("echo two");
            client.patience(BRIEF_MILLIS);
            assertThatThrownBy(() -> client.ask("three")).isInstanceOf(SocketTimeoutException.class);
            client.patience(PATIENT_MILLIS);
            assertThat(proxy.awaitDropped(Duration.ofSeconds(20))).isTrue();
            assertThat(server.received()).containsExactly("one", "two", "three");
            proxy.resetAll();
            assertThatThrownBy(() -> client.ask("four")).isInstanceOf(SocketException.class);
            proxy.pass();
        }
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("five")).isEqualTo("echo five");
        }
    }

    @Test
    void keepBack_requests_arriveAfterTheirClientHasGone() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            LateBytes late = proxy.keepBack(Direction.TO_SERVER);
            client.send("late");
            assertThat(late.awaitSome(Duration.ofSeconds(20))).isTrue();
            late.cutOff();
            client.send("lost");
            late.dropClients();
            assertThatThrownBy(client::receive).isInstanceOf(SocketException.class);

            try (LineServer.Client other = client(PATIENT_MILLIS)) {
                assertThat(other.ask("meanwhile")).isEqualTo("echo meanwhile");
                assertThat(server.received()).containsExactly("before", "meanwhile");
                late.deliver();
                await().atMost(Duration.ofSeconds(20))
                        .untilAsserted(
                                () -> assertThat(server.received()).containsExactly("before", "meanwhile", "late"));
                assertThat(other.ask("after")).isEqualTo("echo after");
            }
            assertThat(server.received()).doesNotContain("lost");
        }
    }

    @Test
    void keepBack_replies_comeLateWhileOthersGoOn() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            LateBytes late = proxy.keepBack(Direction.TO_CLIENT);
            client.send("answered late");
            assertThat(late.awaitSome(Duration.ofSeconds(20))).isTrue();
            try (LineServer.Client other = client(PATIENT_MILLIS)) {
                assertThat(other.ask("meanwhile")).isEqualTo("echo meanwhile");
            }
            late.deliver();
            assertThat(client.receive()).isEqualTo("echo answered late");
        }
    }

    @Test
    void keepBack_torn_arrivesByHalf() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS);
                FaultProxy other = proxy.another()) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            LateBytes late = proxy.keepBack(Direction.TO_SERVER);
            client.send("one\nthis is torn");
            assertThat(late.awaitSome(Duration.ofSeconds(20))).isTrue();
            assertThat(late.awaitQuiet(Duration.ofSeconds(20))).isTrue();
            late.dropClients();
            late.deliverTorn();
            assertThat(late.awaitDelivered(Duration.ofSeconds(20))).isTrue();
            try (LineServer.Client next = new LineServer.Client(other.port(), PATIENT_MILLIS)) {
                assertThat(next.ask("after")).isEqualTo("echo after");
            }
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(server.ends()).isNotEmpty());
            assertThat(server.received()).contains("before", "after").doesNotContain("this is torn");
        }
    }

    @Test
    void keepBack_ofAServerThatHasGone_isNotWaitedFor() throws Exception {
        try (LineServer.Client client = client(PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            LateBytes late = proxy.keepBack(Direction.TO_SERVER);
            client.send("late");
            assertThat(late.awaitSome(Duration.ofSeconds(20))).isTrue();
            assertThat(late.awaitDelivered(Duration.ZERO)).as("kept back").isFalse();
            late.end();
            assertThat(late.awaitDelivered(Duration.ofSeconds(20))).isTrue();
            assertThat(server.received()).doesNotContain("late");
        }
    }

    /** The server's port is one that stays ours: another test would get that of a server which has just closed. */
    @Test
    void connect_serverDown_isReset() throws Exception {
        int nobody = LoopbackPorts.next();
        try (FaultProxy toNobody = FaultProxy.to("127.0.0.1", nobody)) {
            assertThatThrownBy(() -> {
                        try (LineServer.Client client = new LineServer.Client(toNobody.port(), PATIENT_MILLIS)) {
                            assertThat(client.ask("anybody")).isEqualTo("end of stream");
                            throw new IOException("ended");
                        }
                    })
                    .isInstanceOf(IOException.class);
        } finally {
            LoopbackPorts.giveBack(nobody);
        }
    }

    private LineServer.Client client(int timeoutMillis) throws IOException {
        return new LineServer.Client(proxy.port(), timeoutMillis);
    }
}
