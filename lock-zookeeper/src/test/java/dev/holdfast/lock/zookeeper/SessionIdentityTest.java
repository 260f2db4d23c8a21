package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ClientInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether a session has an identity, and whether it should have one. No server. */
class SessionIdentityTest {
    private final Asked zk = new Asked();
    private final LocalCurator curator = new LocalCurator(zk);
    private final ZKClientConfig config = new ZKClientConfig();
    private final SessionIdentity identity = new SessionIdentity("h1:2181", config);

    /** A handle that only answers the request for its identity. */
    private static final class Asked extends ZooKeeper {
        final Deque<List<ClientInfo>> answers = new ArrayDeque<>();
        final AtomicInteger asked = new AtomicInteger();
        final CountDownLatch interrupted = new CountDownLatch(1);
        volatile Thread asking;
        volatile boolean hangs;
        volatile States state = States.CONNECTED;

        Asked() throws IOException {
            super(LocalZooKeeper.nowhere(), 1_000, event -> {});
            LocalZooKeeper.endOf(cnxn);
        }

        void answer(String... schemes) {
            answers.add(Arrays.stream(schemes)
                    .map(scheme -> new ClientInfo(scheme, "somebody"))
                    .toList());
        }

        @Override
        public List<ClientInfo> whoAmI() throws InterruptedException {
            asking = Thread.currentThread();
            asked.incrementAndGet();
            if (hangs) {
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    interrupted.countDown();
                    throw e;
                }
            }
            return answers.poll();
        }

        @Override
        public States getState() {
            return state;
        }
    }

    SessionIdentityTest() throws IOException {
        Configuration.setConfiguration(new NoSections());
    }

    @AfterEach
    void forget() {
        Configuration.setConfiguration(null);
        Thread.interrupted();
    }

    private static class NoSections extends Configuration {
        @Override
        public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            return null;
        }
    }

    private static final class Section extends Configuration {
        private final String section;

        Section(String section) {
            this.section = section;
        }

        @Override
        public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            return name.equals(section)
                    ? new AppConfigurationEntry[] {
                        new AppConfigurationEntry("x", AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, Map.of())
                    }
                    : null;
        }
    }

    private boolean isAuthenticated() {
        return identity.isAuthenticated(curator.framework(), System.nanoTime() + TimeUnit.SECONDS.toNanos(30));
    }

    @ParameterizedTest
    @CsvSource({"ip, false", "ip digest, true", "digest, true", "x509, true", "'', false"})
    void authenticated_byAnythingButItsAddress(String schemes, boolean authenticated) {
        zk.answer(schemes.isEmpty() ? new String[0] : schemes.split(" "));
        assertThat(isAuthenticated()).isEqualTo(authenticated);
        assertThat(zk.asking.getName()).isEqualTo("holdfast-zookeeper-connect");
        assertThat(zk.asking.isDaemon()).isTrue();
    }

    /** The session looks as if it was never configured for SASL. */
    @Test
    void loginByItsConfiguration_failed_isRefused() {
        Configuration.setConfiguration(new Section("Client"));
        zk.answer("ip", "digest");
        assertThatThrownBy(this::isAuthenticated)
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("ZooKeeper at h1:2181: this client is configured to log in by SASL (section 'Client' of the"
                        + " JVM's login configuration), and the servers did not authenticate it by SASL; check the section and its"
                        + " credentials, or set zookeeper.sasl.client=false if it should not log in, or add acl=world to the"
                        + " address if all clients may use its nodes");
        zk.answer("ip", "sasl");
        assertThat(isAuthenticated()).isTrue();
        config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, "Other");
        zk.answer("ip");
        assertThat(isAuthenticated()).as("that section is not there").isFalse();
        Configuration.setConfiguration(new Section("Other"));
        zk.answer("ip");
        assertThatThrownBy(this::isAuthenticated).hasMessageContaining("(section 'Other' of");
        config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
        zk.answer("ip");
        assertThat(isAuthenticated()).as("switched off").isFalse();
    }

    /** A file that cannot be read. */
    @Test
    void loginConfiguration_thatIsBroken_isNone_unlessTheLoginHasFailed() throws Exception {
        Configuration.setConfiguration(new NoSections() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                throw new SecurityException("broken");
            }
        });
        zk.answer("ip");
        assertThat(isAuthenticated()).isFalse();

        curator.listeners.add(identity);
        curator.tell(KeeperState.SyncConnected);
        zk.answer("ip");
        assertThat(isAuthenticated()).isFalse();
        curator.tell(KeeperState.AuthFailed);
        curator.tell(KeeperState.SyncConnected);
        zk.answer("ip");
        assertThatThrownBy(this::isAuthenticated).isInstanceOf(LockConfigurationException.class);
        zk.answer("ip", "x509");
        assertThat(isAuthenticated()).as("by another way").isTrue();
    }

    @Test
    void servers_thatTellNothing_areAskedThreeTimes() {
        assertThatThrownBy(this::isAuthenticated)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage(
                        "ZooKeeper at h1:2181 did not return the identity of this client in time, which servers can since 3.7;"
                                + " check the network, or add acl=creator or acl=world to the address")
                .hasNoCause();
        assertThat(zk.asked).hasValue(3);
    }

    @Test
    void client_thatCannotAuthenticate_isRefused() {
        zk.state = ZooKeeper.States.AUTH_FAILED;
        assertThatThrownBy(this::isAuthenticated)
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage(
                        "ZooKeeper at h1:2181: this client could not authenticate; check its login configuration and"
                                + " credentials");
        assertThat(zk.asked).hasValue(1);
        IOException cut = new IOException("cut");
        curator.failure = cut;
        assertThatThrownBy(this::isAuthenticated)
                .isInstanceOf(LockUnavailableException.class)
                .hasCause(cut);
    }

    /** The request has no time-out: its thread must still end. */
    @Test
    void servers_thatDoNotAnswer_areLeftAtTheDeadline() throws Exception {
        zk.hangs = true;
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(30);
        while (zk.asking == null) {
            assertThatThrownBy(() -> identity.isAuthenticated(curator.framework(), deadlineNanos))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("did not return the identity")
                    .hasCauseInstanceOf(java.util.concurrent.TimeoutException.class);
        }
        assertThat(zk.interrupted.await(30, TimeUnit.SECONDS)).isTrue();

        Thread.currentThread().interrupt();
        assertThatThrownBy(this::isAuthenticated)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("interrupted while connecting to ZooKeeper");
        assertThat(Thread.interrupted()).isTrue();
    }
}
