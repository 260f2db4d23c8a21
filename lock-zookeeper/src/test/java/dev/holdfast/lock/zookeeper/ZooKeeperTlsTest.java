package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.support.ConnectFailure;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.Base64;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Encrypted connections, which need nothing but Netty, a dependency of ZooKeeper's client. */
class ZooKeeperTlsTest {

    private static final String PASSWORD = "store-password";
    private static final String LOCATION = "zookeeper.ssl.trustStore.location";
    private static final String SECRET = "zookeeper.ssl.trustStore.password";
    private static final int PATIENCE_MILLIS = 120_000;
    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(15)).build();
    private static final LockClientOptions HASTY =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(2)).build();

    @AfterEach
    void forget() {
        System.clearProperty(LOCATION);
        System.clearProperty(SECRET);
    }

    @Test
    @DisplayName("A trusted server of the right name is used; an unknown one is not")
    void tls_trusted_works() throws Exception {
        try (ZooKeeperServer server = server("IP:127.0.0.1,DNS:localhost")) {
            trust(server);
            try (LockClient client = LockClient.connect(uri(server), OPTIONS);
                    Lease lease = client.lock("encrypted").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(client.holder("encrypted")).isPresent();
            }

            forget();
            assertThatThrownBy(() -> LockClient.connect(uri(server), HASTY))
                    .isInstanceOf(LockUnavailableException.class);
        }
    }

    @Test
    @DisplayName("A trusted server of another name is refused")
    void tls_wrongHost_isRefused() throws Exception {
        try (ZooKeeperServer server = server("DNS:elsewhere.example")) {
            trust(server);

            assertThatThrownBy(() -> LockClient.connect(uri(server), HASTY))
                    .isInstanceOf(LockUnavailableException.class);
        }
    }

    @Test
    @DisplayName("A connection without TLS to the TLS port fails with a message that says so")
    void inClear_toTheTlsPort_saysSo() throws Exception {
        try (ZooKeeperServer server = server("IP:127.0.0.1")) {
            String address = uri(server).replace("?tls=true", "");
            ConnectFailure.of(address, Duration.ofSeconds(10))
                    .lasts("127.0.0.1:" + server.node(0).environment().port(1), "speaks TLS; write ?tls=true");
        }
    }

    private static String uri(ZooKeeperServer server) {
        return "zookeeper://127.0.0.1:" + server.node(0).environment().port(1) + "/tls?tls=true";
    }

    private static void trust(ZooKeeperServer server) {
        System.setProperty(
                LOCATION,
                server.node(0).environment().folder().resolve("trust.p12").toString());
        System.setProperty(SECRET, PASSWORD);
    }

    private static ZooKeeperServer server(String hosts) throws Exception {
        ZooKeeperServer server = Servers.single()
                .prepare(environment -> keys(environment, hosts))
                .property("zookeeper.serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory")
                .config("secureClientPort", "${port2}")
                .config("ssl.keyStore.location", "${folder}/key.p12")
                .config("ssl.keyStore.password", PASSWORD)
                .config("ssl.clientAuth", "none")
                .start();
        shakeHands(server.node(0).environment().port(1));
        return server;
    }

    /** The first handshake loads the server's classes, which may take longer than a client waits. */
    private static void shakeHands(int port) throws IOException {
        try (Socket socket = SSLSocketFactory.getDefault().createSocket("127.0.0.1", port)) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            assertThatThrownBy(((SSLSocket) socket)::startHandshake)
                    .as("this JVM does not trust it")
                    .isInstanceOf(SSLHandshakeException.class);
        }
    }

    private static void keys(ServerEnvironment environment, String hosts) throws Exception {
        Path folder = environment.folder();
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", hosts);
        Certificate certificate;
        try (InputStream pem = Files.newInputStream(own.certificate())) {
            certificate = CertificateFactory.getInstance("X.509").generateCertificate(pem);
        }
        String pem = Files.readString(own.key()).replaceAll("-----.*-----|\\s", "");
        PrivateKey key = KeyFactory.getInstance("EC")
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));

        KeyStore keys = emptyStore();
        keys.setKeyEntry("server", key, PASSWORD.toCharArray(), new Certificate[] {certificate});
        write(keys, folder.resolve("key.p12"));
        KeyStore trusted = emptyStore();
        trusted.setCertificateEntry("server", certificate);
        write(trusted, folder.resolve("trust.p12"));
    }

    private static KeyStore emptyStore() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static void write(KeyStore store, Path file) throws Exception {
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, PASSWORD.toCharArray());
        }
    }
}
