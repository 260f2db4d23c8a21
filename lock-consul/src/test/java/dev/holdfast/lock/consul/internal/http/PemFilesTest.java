package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.InvalidKeySpecException;
import java.util.Base64;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PemFilesTest {
    @TempDir
    private static Path folder;

    private static SelfSignedCertificate own;
    private static SelfSignedCertificate other;

    @BeforeAll
    static void make() throws Exception {
        own = SelfSignedCertificate.make(folder, "own", "DNS:localhost");
        other = SelfSignedCertificate.make(folder, "other", "DNS:localhost");
    }

    /** The platform may trust the certificate of an agent that still requires one from its clients. */
    @Test
    void context_isOfWhatIsGiven() throws Exception {
        assertThat(PemFiles.context(null, own.certificate(), own.key())).isNotNull();
        assertThat(PemFiles.context(own.certificate(), null, null)).isNotNull();
        assertThat(PemFiles.context(null, null, null)).isNull();
    }

    @Test
    void certificate_isPresented_andWhoeverIsInTheFileIsTrusted() throws Exception {
        SSLContext agent = PemFiles.context(own.certificate(), own.certificate(), own.key());
        Path both = Files.writeString(
                folder.resolve("both.pem"),
                Files.readString(own.certificate()) + Files.readString(other.certificate()));
        for (Path trusted : new Path[] {own.certificate(), both}) {
            assertThat(handshake(PemFiles.context(trusted, own.certificate(), own.key()), agent))
                    .isEqualTo("CN=own");
        }
        assertThatThrownBy(() -> handshake(PemFiles.context(own.certificate(), null, null), agent))
                .as("without a certificate of one's own")
                .isInstanceOf(SSLException.class);
        assertThatThrownBy(() -> handshake(PemFiles.context(other.certificate(), own.certificate(), own.key()), agent))
                .as("an agent that is not trusted")
                .isInstanceOf(SSLException.class);
        assertThatThrownBy(
                        () -> handshake(PemFiles.context(own.certificate(), other.certificate(), other.key()), agent))
                .as("a client that the agent does not trust")
                .isInstanceOf(SSLException.class);
    }

    @Test
    void key_isPkcs8OfRsaOrEc() throws Exception {
        KeyPairGenerator curve = KeyPairGenerator.getInstance("EC");
        curve.initialize(new ECGenParameterSpec("secp256r1"));
        Path ec = key("ec.key", curve.generateKeyPair().getPrivate().getEncoded());
        assertThat(PemFiles.context(null, own.certificate(), ec)).isNotNull();
        Path rsa = key(
                "rsa.key",
                KeyPairGenerator.getInstance("RSA")
                        .generateKeyPair()
                        .getPrivate()
                        .getEncoded());
        assertThat(PemFiles.context(null, own.certificate(), rsa)).isNotNull();
        Path ed = key(
                "ed.key",
                KeyPairGenerator.getInstance("Ed25519")
                        .generateKeyPair()
                        .getPrivate()
                        .getEncoded());
        assertThatThrownBy(() -> PemFiles.context(null, own.certificate(), ed))
                .isInstanceOf(InvalidKeySpecException.class)
                .hasMessage("the key is neither RSA nor EC");
        Path old = Files.writeString(
                folder.resolve("old.key"), Files.readString(own.key()).replace(" PRIVATE KEY", " RSA PRIVATE KEY"));
        assertThatThrownBy(() -> PemFiles.context(null, own.certificate(), old))
                .isInstanceOf(InvalidKeySpecException.class)
                .hasMessageContainingAll("not PKCS#8 without a password", "openssl pkcs8 -topk8 -nocrypt");
    }

    private static Path key(String name, byte[] encoded) throws Exception {
        return Files.writeString(
                folder.resolve(name),
                "a comment\n-----BEGIN PRIVATE KEY-----\n"
                        + Base64.getMimeEncoder().encodeToString(encoded) + "\n-----END PRIVATE KEY-----\n");
    }

    /** In memory; the agent wants a certificate. Returns the name in it. */
    private static String handshake(SSLContext client, SSLContext agent) throws SSLException {
        SSLEngine one = client.createSSLEngine("localhost", 1);
        one.setUseClientMode(true);
        SSLEngine two = agent.createSSLEngine();
        two.setUseClientMode(false);
        two.setNeedClientAuth(true);
        one.beginHandshake();
        two.beginHandshake();
        ByteBuffer toAgent = ByteBuffer.allocate(1 << 16);
        ByteBuffer toClient = ByteBuffer.allocate(1 << 16);
        for (int i = 0; i < 1_000; i++) {
            step(one, toClient, toAgent);
            step(two, toAgent, toClient);
            boolean over = one.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING
                    && two.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
            if (over && toAgent.position() == 0 && toClient.position() == 0) {
                return two.getSession().getPeerPrincipal().getName();
            }
        }
        throw new AssertionError("a handshake without an end");
    }

    private static void step(SSLEngine engine, ByteBuffer in, ByteBuffer out) throws SSLException {
        switch (engine.getHandshakeStatus()) {
            case NEED_WRAP -> engine.wrap(ByteBuffer.allocate(0), out);
            case NEED_TASK -> {
                for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
                    task.run();
                }
            }
            default -> {
                in.flip();
                engine.unwrap(in, ByteBuffer.allocate(1 << 16));
                in.compact();
            }
        }
    }
}
