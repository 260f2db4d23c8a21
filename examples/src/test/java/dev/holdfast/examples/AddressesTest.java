package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One rule for the addresses of all schemes. Nothing listens at {@code HOST}, so a valid address fails there. */
final class AddressesTest {
    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();

    /** On JDBC by its number: its name may be a part of a password with a bare {@code &}. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://HOST",
                "rediss://HOST",
                "redis-cluster://HOST",
                "rediss-cluster://HOST",
                "valkey://HOST",
                "valkeys://HOST",
                "valkey-cluster://HOST",
                "valkeys-cluster://HOST",
                "etcd://HOST",
                "etcds://HOST",
                "zookeeper://HOST",
                "zk://HOST",
                "jdbc:postgresql://HOST/x",
                "jdbc:mariadb://HOST/x",
                "memory:addresses"
            })
    void unknownParameter_isRefused(String address) throws Exception {
        assertThatThrownBy(() -> LockClient.connect(atNobody(address + "?nosuch=1"), OPTIONS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(address.startsWith("jdbc:") ? "number 1" : "nosuch");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://HOST",
                "redis-sentinel://HOST#group",
                "redis-cluster://HOST",
                "valkey://HOST",
                "valkeys://HOST",
                "valkey-sentinel://HOST#group",
                "valkey-cluster://HOST",
                "etcd://HOST",
                "zookeeper://HOST",
                "zk://HOST",
                "jdbc:postgresql://HOST/x"
            })
    void scheme_inAnyCase_isTheSame(String address) throws Exception {
        int end = address.indexOf(':');
        String upper = address.substring(0, end).toUpperCase(Locale.ROOT) + address.substring(end);
        assertThat(catchThrowable(() -> LockClient.connect(atNobody(upper), OPTIONS)))
                .isInstanceOf(LockException.class)
                .hasMessageContaining("connection refused");
    }

    /** Percent-encoded it is read; bare it is read or refused. No other host is asked. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://:p%40ss@HOST",
                "redis://:p@ss@HOST",
                "redis://me:p@ss/@HOST",
                "valkey://:p@ss@HOST",
                "redis-sentinel://me:p@ss@HOST#group",
                "redis-cluster://me:p@ss@HOST",
                "etcd://me:p%40ss@HOST",
                "etcd://me:p@ss@HOST",
                "zookeeper://me:p%40ss@HOST",
                "zookeeper://me:p@ss@HOST",
                "jdbc:postgresql://me:p%40ss@HOST/x",
                "jdbc:postgresql://me:p@ss@HOST/x"
            })
    void passwordWithAnAt_leadsToNoOtherHost(String address) throws Exception {
        Throwable failure = catchThrowable(() -> LockClient.connect(atNobody(address), OPTIONS));
        assertThat(failure).isInstanceOfAny(LockException.class, IllegalArgumentException.class);
        assertThat(failure.getMessage())
                .containsAnyOf("connection refused", "malformed")
                .doesNotContain("ss@");
        if (address.contains("%40")) {
            assertThat(failure).hasMessageContaining("connection refused");
        }
    }

    @Test
    void memory_inAnyCase_isTheSameStore() throws Exception {
        try (LockClient lower = LockClient.connect("memory:addresses-case");
                LockClient upper = LockClient.connect("MEMORY:addresses-case")) {
            lower.lock("x").lock();
            assertThat(upper.lock("x").tryLock()).isFalse();
        }
    }

    @Test
    void socketsOfUnix_areRefusedWithTheServedSchemes() {
        assertThatThrownBy(() -> LockClient.connect("redis-socket:///tmp/redis.sock", OPTIONS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("redis-socket", "redis-sentinel");
    }

    private static String atNobody(String address) throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return address.replace("HOST", "127.0.0.1:" + socket.getLocalPort());
        }
    }
}
