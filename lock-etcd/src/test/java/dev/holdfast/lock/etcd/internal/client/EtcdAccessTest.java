package dev.holdfast.lock.etcd.internal.client;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import dev.holdfast.lock.testkit.support.ConnectionTranscript;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.auth.Permission;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.OptionsUtil;
import io.etcd.jetcd.options.PutOption;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connecting by address: users, permissions, TLS, and the application's own client. */
@House("servers:rights")
final class EtcdAccessTest {
    private static final String CANARY = "canary-7gJq";
    private static final int LEASE_SECONDS = 4;
    private static final LockClientOptions OPTIONS = options(LEASE_SECONDS);

    private static LockClientOptions options(int leaseSeconds) {
        return LockClientOptions.builder()
                .lockOptions(LockOptions.builder()
                        .lease(Duration.ofSeconds(leaseSeconds))
                        .build())
                .requestTimeout(Duration.ofSeconds(30))
                .who("me")
                .build();
    }

    private static ByteSequence bytes(String text) {
        return EtcdKeys.bytes(text);
    }

    /**
     * Locks, waits, renews and releases through a client; repeats it with a longer lease after a pause of the machine.
     */
    private static void exercise(String uri) throws Exception {
        for (int seconds = LEASE_SECONDS; ; seconds *= 2) {
            try {
                exercise(uri, seconds);
                return;
            } catch (AssertionError | RuntimeException e) {
                if (seconds == 4 * LEASE_SECONDS) {
                    throw e;
                }
            }
        }
    }

    private static void exercise(String uri, int leaseSeconds) throws Exception {
        try (LockClient first = LockClient.connect(uri, options(leaseSeconds));
                LockClient second = LockClient.connect(uri, options(leaseSeconds))) {
            Lease held = first.lock("orders/42").acquire();
            CompletableFuture<Lease> next = second.lock("orders/42").acquireAsync(PATIENCE);
            long startNanos = System.nanoTime();
            await().atMost(PATIENCE)
                    .until(() -> System.nanoTime() - startNanos > TimeUnit.SECONDS.toNanos(leaseSeconds + 1));
            assertThat(held.isValid()).isTrue();
            assertThat(first.holder("orders/42").orElseThrow().who()).isEqualTo("me");
            assertThat(second.lock("orders/42").tryLock()).isFalse();
            held.close();
            Lease got = next.get(3, TimeUnit.MINUTES);
            assertThat(got.token()).isGreaterThan(held.token());
            got.close();
        }
    }

    @Test
    void connect_byAddress_works() throws Exception {
        try (EtcdServer server = EtcdServer.start()) {
            exercise("etcd://" + server.hostsAndPorts());
            exercise("etcd://" + server.hostsAndPorts() + "/?prefix=shop/&mode=single-key");
        }
    }

    @Test
    void connect_toAClosedPort_isUnavailable() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        assertThatThrownBy(() -> LockClient.connect("etcd://127.0.0.1:" + port))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("127.0.0.1:" + port);
    }

    @Test
    void connect_asUserOfThePrefix_needsNoOtherPermission() throws Exception {
        try (EtcdServer server = EtcdServer.start();
                Client admin = Client.builder()
                        .endpoints(server.endpoints().get(0))
                        .user(bytes("root"))
                        .password(bytes("root-password"))
                        .build()) {
            setUpUsers(server);
            String address = "@" + server.hostsAndPorts();

            exercise("etcd://locker:" + CANARY + address + "?prefix=shop/locks/");
            exercise("etcd://locker:" + CANARY + address + "?prefix=shop/locks/&mode=single-key");

            assertRefused("etcd://locker:" + CANARY + address + "?prefix=other/");
            assertRefused("etcd://locker:" + CANARY + "-wrong" + address + "?prefix=shop/locks/");
            assertRefused("etcd://nobody:" + CANARY + address + "?prefix=shop/locks/");
            assertRefused("etcd://" + server.hostsAndPorts() + "?prefix=shop/locks/");
            assertThat(admin.getAuthClient()
                            .userGet(bytes("locker"))
                            .get(1, TimeUnit.MINUTES)
                            .getRoles())
                    .containsExactly("locks");
        }
    }

    /** Right, wrong and malformed: every logger at its finest, ours and the client's, exceptions and names of threads. */
    @Test
    void password_neverShowsInWhatAProcessSays(@TempDir Path folder) throws Exception {
        try (EtcdServer server = EtcdServer.start()) {
            setUpUsers(server);
            String acquisition = "@" + server.hostsAndPorts() + "?prefix=shop/locks/";
            List<CanaryPassword> passwords = new ArrayList<>();
            List<String> addresses = new ArrayList<>(List.of("etcd://locker:" + CANARY + acquisition));
            Random random = new Random(23);
            for (int i = 0; i < 3; i++) {
                CanaryPassword wrong = CanaryPassword.random(random);
                passwords.add(wrong);
                addresses.add("etcd://locker:" + wrong.encoded() + acquisition);
                addresses.add("etcd://locker:" + wrong.text() + acquisition);
                addresses.add("etcd://locker:" + wrong.text() + "/" + acquisition);
            }
            // gRPC's log of frames has the bytes of the login in hexadecimal, which SECURITY.md says.
            String said = ConnectionTranscript.of(folder, addresses, "io.grpc.netty.NettyClientHandler=info");
            assertThat(said)
                    .contains("client LockClient[etcd]")
                    .contains("authentication failed")
                    .contains("io.grpc");
            passwords.add(new CanaryPassword(CANARY, List.of(CANARY)));
            assertThat(passwords).noneMatch(password -> password.showsIn(said));

            String frames = ConnectionTranscript.of(folder, addresses.subList(0, 1));
            assertThat(frames.lines().filter(passwords.get(passwords.size() - 1)::showsIn))
                    .as("what SECURITY.md warns of")
                    .isNotEmpty()
                    .allMatch(line -> line.contains("io.grpc.netty.NettyClientHandler"));
        }
    }

    private static void setUpUsers(EtcdServer server) throws Exception {
        try (Client open = Client.builder().endpoints(server.endpoints().get(0)).build()) {
            var auth = open.getAuthClient();
            ByteSequence prefix = bytes("shop/locks/");
            auth.roleAdd(bytes("locks")).get(1, TimeUnit.MINUTES);
            auth.roleGrantPermission(bytes("locks"), prefix, OptionsUtil.prefixEndOf(prefix), Permission.Type.READWRITE)
                    .get(1, TimeUnit.MINUTES);
            auth.userAdd(bytes("locker"), bytes(CANARY)).get(1, TimeUnit.MINUTES);
            auth.userGrantRole(bytes("locker"), bytes("locks")).get(1, TimeUnit.MINUTES);
            auth.userAdd(bytes("root"), bytes("root-password")).get(1, TimeUnit.MINUTES);
            auth.userGrantRole(bytes("root"), bytes("root")).get(1, TimeUnit.MINUTES);
            auth.authEnable().get(1, TimeUnit.MINUTES);
        }
    }

    private static void assertRefused(String uri) {
        assertThatThrownBy(() -> LockClient.connect(uri, OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .satisfies(failure -> {
                    StringWriter text = new StringWriter();
                    failure.printStackTrace(new PrintWriter(text));
                    assertThat(text.toString()).doesNotContain(CANARY);
                });
    }

    @Test
    void connect_byTls_checksTheHost(@TempDir Path folder) throws Exception {
        SelfSignedCertificate right = SelfSignedCertificate.make(folder, "right", "IP:127.0.0.1,DNS:localhost");
        SelfSignedCertificate wrong = SelfSignedCertificate.make(folder, "wrong", "DNS:elsewhere.example");
        try (EtcdServer server = EtcdServer.startTls(right.certificate(), right.key())) {
            exercise("etcds://" + server.hostsAndPorts() + "?ca=" + right.certificate());
            assertUntrusted("etcds://" + server.hostsAndPorts());
            assertUntrusted("etcds://" + server.hostsAndPorts() + "?ca=" + wrong.certificate());
        }
        try (EtcdServer server = EtcdServer.startTls(wrong.certificate(), wrong.key())) {
            assertUntrusted("etcds://" + server.hostsAndPorts() + "?ca=" + wrong.certificate());
            exercise("etcds://" + server.hostsAndPorts() + "?authority=elsewhere.example&ca=" + wrong.certificate());
        }
    }

    private static void assertUntrusted(String uri) {
        assertThatThrownBy(() -> LockClient.connect(uri, OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void connect_withAMissingCertificateFile_saysSo() {
        assertThatThrownBy(() -> LockClient.connect("etcds://localhost?ca=/does/not/exist.pem"))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("PEM");
    }

    @Test
    void build_fromTheApplicationsClient_leavesItOpenAndGuardsItsTransactions() throws Exception {
        try (EtcdServer server = EtcdServer.start();
                Client etcd = Client.builder()
                        .endpoints(server.endpoints().get(0))
                        .namespace(bytes("app/"))
                        .build()) {
            Lease stale;
            try (LockClient locks = EtcdLocks.builder(etcd).prefix("locks/").build()) {
                stale = locks.lock("orders").acquire();
                assertThat(write(etcd, stale, "first")).isTrue();
                long startNanos = System.nanoTime();
                await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos > 6_000_000_000L);
                assertThat(stale.isValid()).isTrue();
            }
            try (LockClient locks = EtcdLocks.builder(etcd).prefix("locks/").build()) {
                try (Lease current = locks.lock("orders").acquire()) {
                    assertThat(current.token()).isGreaterThan(stale.token());
                    assertThat(write(etcd, stale, "stale")).isFalse();
                    assertThat(write(etcd, current, "current")).isTrue();
                    stale = current;
                }
                assertThat(write(etcd, stale, "after release")).isFalse();
            }
            var value = etcd.getKVClient().get(bytes("stock")).get(1, TimeUnit.MINUTES);
            assertThat(value.getKvs().get(0).getValue()).isEqualTo(bytes("current"));
        }
    }

    private static boolean write(Client etcd, Lease lease, String value) throws Exception {
        TxnResponse reply = etcd.getKVClient()
                .txn()
                .If(EtcdLocks.ownership(lease))
                .Then(Op.put(bytes("stock"), bytes(value), PutOption.DEFAULT))
                .commit()
                .get(1, TimeUnit.MINUTES);
        return reply.isSucceeded();
    }
}
