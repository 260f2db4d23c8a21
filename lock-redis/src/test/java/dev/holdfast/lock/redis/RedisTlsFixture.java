package dev.holdfast.lock.redis;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * A server with TLS and a password, which writes nothing to disk, behind a proxy; and the application's own client for
 * it, which trusts a private authority and outlives all backends.
 */
final class RedisTlsFixture extends OneRedisFixture {
    private static final String PASSWORD = "canary-5ecret";
    private static final Duration TIMEOUT = Duration.ofSeconds(3);

    private final RedisClient client;
    private final String version;

    private RedisTlsFixture(RedisServer server, Path certificate) throws IOException {
        super(server, FaultProxy.to(server.host(), server.tlsPort()));
        version = server.version();
        client = RedisClient.create(RedisURI.builder()
                .withHost(proxy().host())
                .withPort(proxy().port())
                .withPassword(PASSWORD.toCharArray())
                .withSsl(true)
                .withTimeout(TIMEOUT)
                .build());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .socketOptions(SocketOptions.builder().connectTimeout(TIMEOUT).build())
                .sslOptions(SslOptions.builder()
                        .jdkSslProvider()
                        .trustManager(certificate.toFile())
                        .build())
                .build());
    }

    static RedisTlsFixture start() throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("holdfast-tls-");
        Path certificate = folder.resolve("server.pem");
        SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        folder.toFile().deleteOnExit();
        for (String file : new String[] {"server.pem", "server.key", "server-openssl.log"}) {
            folder.resolve(file).toFile().deleteOnExit();
        }
        return new RedisTlsFixture(
                RedisServer.startTlsWithPassword(certificate, folder.resolve("server.key"), PASSWORD), certificate);
    }

    /** The application's client has one address. */
    @Override
    public Set<Capability> capabilities() {
        return EnumSet.complementOf(EnumSet.of(Capability.LATE));
    }

    @Override
    public String name() {
        return "redis " + version + ", TLS, password, no persistence, own client";
    }

    @Override
    public LockBackend newBackend() {
        return RedisLocks.builder(client).backend();
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        super.close();
    }
}
