package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.WrongPorts;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.ConnectFailure;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisURI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said of addresses that do not lead to Redis, to a server, a group or a cluster. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisConnectTest {
    private WrongPorts wrong;
    private RedisServer plain;
    private RedisServer tls;

    @BeforeAll
    void start(@TempDir Path folder) throws Exception {
        wrong = new WrongPorts();
        plain = RedisServer.start();
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        tls = RedisServer.startTls(own.certificate(), own.key());
    }

    @AfterAll
    void stop() throws Exception {
        plain.close();
        tls.close();
        wrong.close();
    }

    private static ConnectFailure connect(String scheme, String server) {
        return ConnectFailure.of(scheme + "://" + server + (scheme.endsWith("-sentinel") ? "#group" : ""));
    }

    private String plain() {
        return plain.host() + ":" + plain.port();
    }

    private String tls() {
        return tls.host() + ":" + tls.tlsPort();
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis", "redis-sentinel", "redis-cluster"})
    void inClear_saysWhatIsWrong(String scheme) {
        connect(scheme, wrong.refused()).mayPass(wrong.refused(), "connection refused");
        connect(scheme, "no.such.host.invalid").mayPass("no.such.host.invalid", "unknown host");
        connect(scheme, wrong.silent()).mayPass(wrong.silent(), "does not answer");
        connect(scheme, wrong.otherProtocol()).lasts(wrong.otherProtocol(), "is not Redis");
        connect(scheme, tls()).lasts(tls(), "speaks TLS; write " + scheme.replace("redis", "rediss") + "://");
    }

    @ParameterizedTest
    @ValueSource(strings = {"rediss", "rediss-sentinel", "rediss-cluster"})
    void encrypted_saysWhatIsWrong(String scheme) {
        connect(scheme, plain()).lasts(plain(), "does not speak TLS");
        connect(scheme, tls()).lasts(tls(), "TLS handshake failed");
    }

    @ParameterizedTest
    @CsvSource({
        "redis://HOST/99, choose another number",
        "redis-cluster://HOST, write redis://",
        "redis-sentinel://HOST#group, write redis://"
    })
    void ordinaryServer_thatIsMeantOtherwise_isTheUsersToCorrect(String address, String remedy) {
        ConnectFailure.of(address.replace("HOST", plain())).lasts(plain(), remedy);
    }

    /** On a busy machine, loading Lettuce and Netty alone took a process longer than its request time-out. */
    @Test
    void firstConnection_ofAProcess_isTriedAgainWhileTheServerAnswersOtherwise() {
        AtomicInteger tries = new AtomicInteger();
        Supplier<String> slow = () -> {
            if (tries.incrementAndGet() < 3) {
                throw new RedisCommandTimeoutException("on purpose");
            }
            return "connected";
        };
        try (InitialConnect opening = opening(plain(), 4)) {
            assertThat(opening.inTime(slow, late -> {})).isEqualTo("connected");
        }
        tries.set(0);
        try (InitialConnect opening = opening(plain(), 1)) {
            assertThatThrownBy(() -> opening.inTime(slow, late -> {})).isInstanceOf(RedisCommandTimeoutException.class);
        }
        tries.set(0);
        try (InitialConnect opening = opening(wrong.silent(), 4)) {
            assertThatThrownBy(() -> opening.inTime(slow, late -> {})).isInstanceOf(RedisCommandTimeoutException.class);
        }
    }

    private static InitialConnect opening(String server, int repeats) {
        return new InitialConnect(false, List.of(RedisURI.create("redis://" + server)), Duration.ofSeconds(1), repeats);
    }
}
