package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.testkit.server.network.WrongPorts;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.options.GetOption;
import io.grpc.Attributes;
import io.grpc.Server;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What connecting asks for, how often, and what it leaves: without a server of etcd's. */
final class EtcdLockProviderTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    /** How a server of HTTP/2 begins. */
    private static final byte[] SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

    private final ScriptedEtcd etcd = new ScriptedEtcd();

    @AfterEach
    void close() {
        etcd.close();
    }

    private void probe(String address, Duration timeout, int repeats) {
        EtcdLockProvider.probe(etcd.client(), EtcdUri.parse(address), "b/", timeout, repeats);
    }

    /** Answers the reads to come, one after the other. */
    private void answering(Object... answers) {
        etcd.requests.clear();
        etcd.whenSent = read -> {
            Object answer = answers[etcd.requests.size() - 1];
            if (answer instanceof Status status) {
                read.fails(status);
            } else {
                read.answers(answer);
            }
        };
    }

    /** Of hundreds of thousands of locks, all keys would be more than a message may have. */
    @Test
    void connecting_readsOneKeyOfThePrefixAtMost() {
        answering(ScriptedEtcd.found(1, false));

        probe("etcd://localhost", MINUTE, 0);

        assertThat(etcd.requests).singleElement().satisfies(read -> {
            assertThat(read.key()).isEqualTo("b/");
            GetOption option = (GetOption) read.arguments().get(1);
            assertThat(option.isPrefix()).isTrue();
            assertThat(option.getLimit()).isEqualTo(1);
            assertThat(option.isKeysOnly()).isTrue();
        });
    }

    /** Nothing but a wait that was too short is tried again. */
    @Test
    void refusal_isReportedAtOnce_withTheAddressAndWithoutThePassword() throws Exception {
        try (Greets http2 = new Greets(SETTINGS)) {
            answering(Status.PERMISSION_DENIED);
            String address = http2.address();

            assertThatThrownBy(() -> probe(address.replace("//", "//me:canary@"), MINUTE, 3))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("connecting to " + address + ": etcd reports")
                    .hasMessageNotContaining("canary");
            assertThat(etcd.requests).hasSize(1);

            answering(Status.UNAVAILABLE);
            assertThatThrownBy(() -> probe(address, MINUTE, 3)).isInstanceOf(LockUnavailableException.class);
            assertThat(etcd.requests).hasSize(1);
        }
    }

    @Test
    void interrupted_saysSo_andLeavesItToTheThread() {
        Thread.currentThread().interrupt();

        Throwable failure = catchThrowable(() -> probe("etcd://me:canary@localhost", MINUTE, 3));

        assertThat(Thread.interrupted()).isTrue();
        assertThat(failure)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("connecting to etcd://localhost:2379 was interrupted")
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(etcd.requests).hasSize(1);
    }

    /** A server that answers each connection as HTTP/2 does, or with other bytes. */
    private static final class Greets implements AutoCloseable {
        private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        Greets(byte[] greeting) throws IOException {
            Thread thread = new Thread(
                    () -> {
                        while (!socket.isClosed()) {
                            try (Socket one = socket.accept()) {
                                one.getOutputStream().write(greeting);
                                one.getInputStream().readAllBytes();
                            } catch (IOException e) {
                                // the test or its client has closed it
                            }
                        }
                    },
                    "greets");
            thread.setDaemon(true);
            thread.start();
        }

        String address() {
            return "etcd://127.0.0.1:" + socket.getLocalPort();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    /** Loading classes may take longer than a request may: if the server answers otherwise, it is read again. */
    @Test
    void readWithoutAnswer_isRepeatedAsOftenAsThat_whileTheServerAnswersOtherwise() throws Exception {
        Status late = Status.DEADLINE_EXCEEDED;
        try (Greets http2 = new Greets(SETTINGS)) {
            answering(late, late, ScriptedEtcd.found(1, false));
            probe(http2.address(), MINUTE, 2);
            assertThat(etcd.requests).hasSize(3);
            answering(late, late, late);
            assertThatThrownBy(() -> probe(http2.address(), MINUTE, 2)).isInstanceOf(LockUnavailableException.class);
            assertThat(etcd.requests).hasSize(3);
            answering(late);
            assertThatThrownBy(() -> probe(http2.address(), MINUTE, 0)).isInstanceOf(LockUnavailableException.class);
            assertThat(etcd.requests).hasSize(1);
        }
    }

    @Test
    void readWithoutAnswer_fromWhatIsNoEtcd_isNotRepeated() throws Exception {
        for (byte[] greeting :
                new byte[][] {"SSH-2.0-banner\r\n".getBytes(StandardCharsets.ISO_8859_1), {0, 0, 0, 1, 0}}) {
            try (Greets other = new Greets(greeting)) {
                answering(Status.DEADLINE_EXCEEDED);
                assertThatThrownBy(() -> probe(other.address(), MINUTE, 3))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("is not etcd");
                assertThat(etcd.requests).hasSize(1);
            }
        }
    }

    /** jetcd's client and ours, over a connection, to a server with one method. */
    private static final class Ranges extends KVGrpc.KVImplBase implements AutoCloseable {
        final List<String> keys = new CopyOnWriteArrayList<>();
        final AtomicInteger connections = new AtomicInteger();
        private final Server server;

        Ranges() throws IOException {
            server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addTransportFilter(new ServerTransportFilter() {
                        @Override
                        public Attributes transportReady(Attributes attributes) {
                            connections.incrementAndGet();
                            return attributes;
                        }

                        @Override
                        public void transportTerminated(Attributes attributes) {
                            connections.decrementAndGet();
                        }
                    })
                    .addService(this)
                    .build()
                    .start();
        }

        @Override
        public void range(RangeRequest request, StreamObserver<RangeResponse> reply) {
            keys.add(request.getKey().toStringUtf8());
            reply.onNext(RangeResponse.getDefaultInstance());
            reply.onCompleted();
        }

        LockClient connect(String parameters) {
            return new EtcdLockProvider()
                    .connect("etcd://127.0.0.1:" + server.getPort() + parameters, LockClientOptions.defaults());
        }

        void awaitNoConnection() {
            await().pollInterval(Duration.ofMillis(5))
                    .atMost(Duration.ofSeconds(10))
                    .until(() -> connections.get() == 0);
        }

        @Override
        public void close() {
            server.shutdownNow();
        }
    }

    @Test
    void connected_byItsParameters_andTheConnectionEndsWithTheClient() throws Exception {
        try (Ranges ranges = new Ranges()) {
            try (LockClient client = ranges.connect("")) {
                assertThat(client.holder("n")).isEmpty();
                assertThat(ranges.keys).containsExactly("holdfast/", "holdfast/~queue/n/");
                assertThat(ranges.connections).hasPositiveValue();
            }
            ranges.awaitNoConnection();
            ranges.keys.clear();
            try (LockClient client = ranges.connect("?prefix=shop/&mode=single-key")) {
                assertThat(client.holder("n")).isEmpty();
            }
            assertThat(ranges.keys).containsExactly("shop/", "shop/n");
            ranges.awaitNoConnection();
            ranges.keys.clear();

            assertThatIllegalArgumentException().isThrownBy(() -> ranges.connect("?prefix=no-slash"));
            assertThat(ranges.keys).as("was connected").hasSize(1);
            ranges.awaitNoConnection();
        }
    }

    /** The file of the certificate and that of its key: one for the other could not be read. */
    @Test
    void ownCertificate_isReadFromItsFiles(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "own", "IP:127.0.0.1");
        try (WrongPorts wrong = new WrongPorts()) {
            String address = "etcds://" + wrong.refused() + "?cert=";
            LockClientOptions options = LockClientOptions.defaults();

            assertThatThrownBy(() ->
                            new EtcdLockProvider().connect(address + own.certificate() + "&key=" + own.key(), options))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("connection refused");
            assertThatThrownBy(() ->
                            new EtcdLockProvider().connect(address + own.key() + "&key=" + own.certificate(), options))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("etcds://" + wrong.refused() + ": TLS cannot be set up (")
                    .hasMessageEndingWith("); check the PEM files ca, cert and key");
        }
    }

    @Test
    void schemes_areThatInClear_andThatByTls() {
        assertThat(new EtcdLockProvider().schemes()).containsExactlyInAnyOrder("etcd", "etcds");
    }
}
