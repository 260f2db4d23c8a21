package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.client.ZKClientConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an address and a client's options make of a framework. No server. */
class ZooKeeperSettingsTest {
    private static CuratorFrameworkFactory.Builder settings(String uri, long requestMillis) {
        ZooKeeperUri address = ZooKeeperUri.parse(uri);
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(requestMillis))
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(15)).build())
                .build();
        return ZooKeeperLockProvider.framework(address, options, ZooKeeperLockProvider.config(address));
    }

    @ParameterizedTest
    @CsvSource({
        "zk://h1, 3000, 15000, 3000",
        "zk://h1, 20000, 15000, 15000",
        "zk://h1?sessionTimeout=2000, 3000, 2000, 2000",
    })
    void timeOuts_areTheSessionsAndTheRequests(
            String uri, long requestMillis, int sessionMillis, int connectionMillis) {
        CuratorFrameworkFactory.Builder settings = settings(uri, requestMillis);
        assertThat(settings.getSessionTimeoutMs()).isEqualTo(sessionMillis);
        assertThat(settings.getConnectionTimeoutMs()).isEqualTo(connectionMillis);
        assertThat(settings.getMaxCloseWaitMs()).isEqualTo(1_000);
        assertThat(settings.getRetryPolicy()).isInstanceOf(RetryForever.class);
        assertThat(settings.withEnsembleTracker()).isFalse();
    }

    @Test
    void servers_andLogin_areThoseOfTheAddress() {
        CuratorFrameworkFactory.Builder settings = settings("zk://me:p%C3%BC@h1,[::1]:2182/base", 3_000);
        assertThat(settings.getEnsembleProvider().getConnectionString()).isEqualTo("h1:2181,[::1]:2182");
        assertThat(settings.getAuthInfos()).singleElement().satisfies(login -> {
            assertThat(login.getScheme()).isEqualTo("digest");
            assertThat(login.getAuth()).isEqualTo("me:pü".getBytes(StandardCharsets.UTF_8));
        });
        assertThat(settings("zk://h1", 3_000).getAuthInfos()).isNullOrEmpty();
    }

    @Test
    void tls_isNettys() {
        ZKClientConfig tls = settings("zk://h1?tls=true", 3_000).getZkClientConfig();
        assertThat(tls.getProperty(ZKClientConfig.SECURE_CLIENT)).isEqualTo("true");
        assertThat(tls.getProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET))
                .isEqualTo("org.apache.zookeeper.ClientCnxnSocketNetty");
        ZKClientConfig clear = settings("zk://h1", 3_000).getZkClientConfig();
        assertThat(clear.getProperty(ZKClientConfig.SECURE_CLIENT)).isNull();
        assertThat(new ZooKeeperLockProvider().schemes()).containsExactlyInAnyOrder("zookeeper", "zk");
    }
}
