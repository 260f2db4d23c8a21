package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The values of a builder, and the paths and owners of nodes. No server. */
class ZooKeeperLocksTest {
    private final LocalTree tree = new LocalTree();
    private final LocalCurator curator = new LocalCurator(new LocalZooKeeper(tree));

    ZooKeeperLocksTest() throws IOException {}

    private ZooKeeperLocks.Builder builder() {
        return ZooKeeperLocks.builder(curator.framework());
    }

    @ParameterizedTest
    @CsvSource({
        ", '', /holdfast/a",
        "/shop/locks, '', /shop/locks/a",
        ", space, /space/holdfast/a",
        "/locks, space, /space/locks/a"
    })
    void nodes_areBelowTheBase_inTheNamespace(String base, String namespace, String node) {
        curator.namespace = namespace;
        ZooKeeperLocks.Builder builder = builder();
        LockBackend backend = (base == null ? builder : builder.basePath(base)).backend();
        BackendDriver.acquire(backend, "a");
        assertThat(tree.nodes).containsKey(node);
        assertThat(tree.nodes.values()).allSatisfy(each -> assertThat(each.acl).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE));
        // The levels above, one after the other.
        String[] parts = node.substring(1).split("/");
        String level = "";
        for (String part : parts) {
            level += "/" + part;
            assertThat(tree.nodes).containsKey(level);
        }
        curator.namespace = null;
        builder().backend().close();
        backend.close();
    }

    @Test
    void nodes_areWhoseTheListSays() {
        List<ACL> readers = List.of(new ACL(ZooDefs.Perms.ALL, ZooDefs.Ids.AUTH_IDS));
        LockBackend backend = builder().acl(readers).backend();
        BackendDriver.acquire(backend, "a");
        assertThat(tree.nodes.values())
                .hasSize(3)
                .allSatisfy(each -> assertThat(each.acl).isEqualTo(readers));
        backend.close();
    }

    @Test
    void value_setTwice_orToNothing_isRefused() {
        Map<String, UnaryOperator<ZooKeeperLocks.Builder>> setters = new LinkedHashMap<>();
        setters.put("options", builder -> builder.options(LockClientOptions.defaults()));
        setters.put("basePath", builder -> builder.basePath("/a"));
        setters.put("acl", builder -> builder.acl(ZooDefs.Ids.OPEN_ACL_UNSAFE));
        setters.forEach((name, setter) -> {
            ZooKeeperLocks.Builder once = builder();
            assertThat(setter.apply(once)).isSameAs(once);
            assertThatThrownBy(() -> setter.apply(once))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith(name + " was already set to ");
        });
        assertThatThrownBy(() -> builder().options(null)).hasMessage("options must not be null");
        assertThatThrownBy(() -> builder().basePath(null)).hasMessage("basePath must not be null");
        assertThatThrownBy(() -> ZooKeeperLocks.builder(null)).hasMessage("client must not be null");
        assertThatThrownBy(() -> builder().acl(List.of()))
                .hasMessage("the access control list is empty; name the identities and their permissions");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/zookeeper", "/zookeeper/locks", "locks", "", "/a//b", "/a/"})
    void base_thatCannotHoldLocks_isRefused(String base) {
        assertThatThrownBy(() -> builder().basePath(base)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void base_besideZooKeepersOwn_isAccepted() {
        builder().basePath("/zookeepers").backend().close();
        assertThatThrownBy(() -> LockTree.requireBase("/zookeeper/x"))
                .hasMessage("base path '/zookeeper/x' cannot hold locks; choose a node of your own, such as /holdfast");
    }

    @ParameterizedTest
    @EnumSource(
            value = CuratorFrameworkState.class,
            names = {"LATENT", "STOPPED"})
    void framework_thatIsNotStarted_isRefused(CuratorFrameworkState state) {
        curator.state = state;
        assertThatThrownBy(() -> builder().build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the CuratorFramework is " + state + "; start it before the lock client is built");
        assertThat(curator.listeners).isEmpty();
    }
}
