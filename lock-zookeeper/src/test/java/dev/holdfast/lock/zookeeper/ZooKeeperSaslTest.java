package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that authenticate by SASL (DIGEST-MD5), of which their address says nothing. */
class ZooKeeperSaslTest {

    private static final String MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule";
    /** It forbids DIGEST-MD5, which needs no other server than this one. */
    private static final String FIPS = "zookeeper.fips-mode";

    private static final ClientOptions OPTIONS =
            ClientOptions.builder().requestTimeout(Duration.ofSeconds(15)).build();

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
    }

    /** As the file that {@code java.security.auth.login.config} names would say it. */
    private static void loginAs(String user) {
        Map<String, String> options = Map.of("username", user, "password", user + "-secret");
        Configuration.setConfiguration(new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String section) {
                return section.equals("Client")
                        ? new AppConfigurationEntry[] {
                            new AppConfigurationEntry(
                                    MODULE, AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options)
                        }
                        : null;
            }
        });
    }

    private static LockClient connect(String user, String base) {
        loginAs(user);
        return LockClient.connect("zk://" + server.connectString() + base, OPTIONS);
    }

    /** What the node of the base path lets whom do. */
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
    @DisplayName("They are everybody's if the address says so")
    void connect_bySaslWithAclWorld_nodesAreEverybodys() throws Exception {
        try (LockClient owner = connect("owner", "/shared?acl=world");
                LockClient other = connect("other", "/shared?acl=world")) {
            owner.lock("ours").acquire().close();
            other.lock("ours").acquire().close();

            assertThat(aclOf("/shared")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        }
    }

    @Test
    @DisplayName("A client without an identity makes nodes for everybody")
    void connect_withoutIdentity_nodesAreEverybodys() throws Exception {
        try (LockClient nobody = LockClient.connect("zk://" + server.connectString() + "/open", OPTIONS)) {
            nobody.lock("ours").acquire().close();

            assertThat(aclOf("/open")).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        }
    }
}
