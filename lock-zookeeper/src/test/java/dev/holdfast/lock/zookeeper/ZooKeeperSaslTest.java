package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginException;
import javax.security.auth.spi.LoginModule;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that authenticate by SASL (DIGEST-MD5), which their address does not mention. */
class ZooKeeperSaslTest {

    private static final String MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule";
    /** It forbids DIGEST-MD5, which needs no other server. */
    private static final String FIPS = "zookeeper.fips-mode";

    private static final String JAAS_FILE = "java.security.auth.login.config";

    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(15)).build();

    @TempDir
    static Path folder;

    private static ZooKeeperServer server;

    @BeforeAll
    static void startServer() throws Exception {
        Path jaas = folder.resolve("jaas.conf");
        Files.writeString(
                jaas, "Server { " + MODULE + " required user_owner=\"owner-secret\" user_other=\"other-secret\"; };\n");
        server = Servers.single()
                .property("java.security.auth.login.config", jaas.toString())
                .property("zookeeper.authProvider.sasl", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
                .property(FIPS, "false")
                .start();
        System.setProperty(FIPS, "false");
    }

    @AfterAll
    static void stopServer() {
        System.clearProperty(FIPS);
        server.close();
    }

    @AfterEach
    void forget() {
        Configuration.setConfiguration(null);
        System.clearProperty(JAAS_FILE);
        System.clearProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY);
    }

    private static void loginAs(String user) {
        loginBy("Client", MODULE, Map.of("username", user, "password", user + "-secret"));
    }

    /** The content of the file that {@code java.security.auth.login.config} names. */
    private static void loginBy(String configured, String module, Map<String, String> options) {
        Configuration.setConfiguration(new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String section) {
                return section.equals(configured)
                        ? new AppConfigurationEntry[] {
                            new AppConfigurationEntry(
                                    module, AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options)
                        }
                        : null;
            }
        });
    }

    /** As if the ticket had expired: ZooKeeper's client then goes on without SASL. */
    public static final class FailingLogin implements LoginModule {
        @Override
        public void initialize(Subject subject, CallbackHandler handler, Map<String, ?> shared, Map<String, ?> own) {}

        @Override
        public boolean login() throws LoginException {
            throw new LoginException("no valid ticket");
        }

        @Override
        public boolean commit() {
            return false;
        }

        @Override
        public boolean abort() {
            return false;
        }

        @Override
        public boolean logout() {
            return false;
        }
    }

    private static LockClient connect(String user, String base) {
        loginAs(user);
        return LockClient.connect("zk://" + server.connectString() + base, OPTIONS);
    }

    /** The ACL of the base path. */
    private static List<ACL> aclOf(String base) throws Exception {
        loginAs("owner");
        try (CuratorFramework asOwner =
                ZooKeeperLockProvider.start(ZooKeeperUri.parse("zk://" + server.connectString()), OPTIONS)) {
            return asOwner.getACL().forPath(base);
        }
    }

    @Test
    @DisplayName("Nodes of a client that authenticates by SASL are its own")
    void connect_bySasl_nodesAreItsOwn() throws Exception {
        try (LockClient owner = connect("owner", "/sasl");
                LockClient other = connect("other", "/sasl")) {
            owner.lock("mine").acquire().close();

            assertThat(aclOf("/sasl")).containsExactly(new ACL(ZooDefs.Perms.ALL, new Id("sasl", "owner")));
            assertThatThrownBy(() -> other.lock("mine").acquire(Duration.ofSeconds(10)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("NOAUTH");
        }
    }

    @Test
    @DisplayName("They are open to all clients with acl=world")
    void connect_bySaslWithAclWorld_nodesAreEverybodys() throws Exception {
        try (LockClient owner = connect("owner", "/shared?acl=world");
                LockClient other = connect("other", "/shared?acl=world")) {
            owner.lock("ours").acquire().close();
            other.lock("ours").acquire().close();

            assertThat(aclOf("/shared")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        }
    }

    @Test
    @DisplayName("A client without an identity creates nodes that are open to all clients")
    void connect_withoutIdentity_nodesAreEverybodys() throws Exception {
        try (LockClient nobody = LockClient.connect("zk://" + server.connectString() + "/open", OPTIONS)) {
            nobody.lock("ours").acquire().close();

            assertThat(aclOf("/open")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        }
    }

    @Test
    @DisplayName("A client whose login fails creates no open nodes")
    void connect_loginFails_isRefused() throws Exception {
        loginBy("Client", FailingLogin.class.getName(), Map.of());

        assertThatThrownBy(() -> LockClient.connect("zk://" + server.connectString() + "/failed", OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("SASL")
                .hasMessageContaining("acl=world");
        try (LockClient world =
                LockClient.connect("zk://" + server.connectString() + "/failed-world?acl=world", OPTIONS)) {
            world.lock("ours").acquire().close();
        }
        assertThat(aclOf("/failed-world")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
    }

    /** The login configuration is one for something else, such as Kafka. */
    @Test
    @DisplayName("A client whose section is missing from the JVM's login configuration is refused")
    void connect_sectionMissing_isRefused() {
        System.setProperty(JAAS_FILE, folder.resolve("jaas.conf").toString());
        loginBy("KafkaClient", MODULE, Map.of());

        assertThatThrownBy(() -> LockClient.connect("zk://" + server.connectString() + "/missing", OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("SASL");
    }

    @Test
    @DisplayName(
            "A client that is configured without SASL has no identity, and creates nodes that are open to all clients")
    void connect_saslSwitchedOff_nodesAreEverybodys() throws Exception {
        loginBy("Client", FailingLogin.class.getName(), Map.of());
        System.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");

        try (LockClient nobody = LockClient.connect("zk://" + server.connectString() + "/off", OPTIONS)) {
            nobody.lock("ours").acquire().close();
        }
        System.clearProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY);
        assertThat(aclOf("/off")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
    }
}
