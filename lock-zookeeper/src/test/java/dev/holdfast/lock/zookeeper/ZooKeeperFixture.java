package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** One server or an ensemble, each server behind its own proxy. */
public final class ZooKeeperFixture implements LockFixture {

    /** Long enough for a busy machine, short enough for a test that waits for its end. */
    public static final int SESSION_MILLIS = 6_000;

    /** A bound for operations that take milliseconds on an idle machine. */
    public static final Duration PATIENCE = Duration.ofSeconds(30);

    /** The session time-out that a default lease of 15 s requests. */
    private static final int CONTRACT_SESSION_MILLIS = 15_000;

    private final ZooKeeperServer server;
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final CuratorFramework administrator;
    private final UnaryOperator<ZooKeeperLocks.Builder> settings;
    private final String userInfo;
    private final String version;

    public ZooKeeperFixture(ZooKeeperServer server, String userInfo, UnaryOperator<ZooKeeperLocks.Builder> settings)
            throws IOException {
        this.server = server;
        this.settings = settings;
        this.userInfo = userInfo;
        this.version = server.version();
        for (int i = 0; i < server.size(); i++) {
            proxies.add(FaultProxy.to(server.node(i)));
        }
        this.administrator = connect(server.connectString(), 10 * SESSION_MILLIS);
    }

    public static ZooKeeperFixture single() throws IOException, InterruptedException {
        return new ZooKeeperFixture(Servers.single().start(), "", builder -> builder);
    }

    /** A given version in containers, three servers. */
    public static ZooKeeperFixture ensemble(ServerImage image) throws IOException, InterruptedException {
        return new ZooKeeperFixture(Servers.ensemble().image(image).start(), "", builder -> builder);
    }

    public static ZooKeeperFixture ensemble() throws IOException, InterruptedException {
        return new ZooKeeperFixture(Servers.ensemble().start(), "", builder -> builder);
    }

    /** All clients share an identity, to which all nodes belong. */
    static ZooKeeperFixture ensembleWithAcl() throws IOException, InterruptedException {
        return new ZooKeeperFixture(
                Servers.ensemble().start(),
                "locks:secret@",
                builder -> builder.acl(org.apache.zookeeper.ZooDefs.Ids.CREATOR_ALL_ACL));
    }

    public ZooKeeperServer server() {
        return server;
    }

    @Override
    public List<FaultProxy> proxies() {
        return proxies;
    }

    public ZooKeeper administrator() throws Exception {
        return administrator.getZookeeperClient().getZooKeeper();
    }

    /** The addresses of the proxies. */
    public String connectString() {
        return connectString(proxies);
    }

    private static String connectString(List<FaultProxy> proxies) {
        return proxies.stream().map(proxy -> proxy.host() + ":" + proxy.port()).collect(Collectors.joining(","));
    }

    String uri() {
        return "zookeeper://" + userInfo + connectString() + "/test/locks";
    }

    CuratorFramework connect(String servers, int sessionMillis) {
        return ZooKeeperLockProvider.start(
                ZooKeeperUri.parse("zookeeper://" + userInfo + servers + "?sessionTimeout=" + sessionMillis),
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofSeconds(20))
                        .lockOptions(LockOptions.defaults())
                        .build());
    }

    /** See docs/zookeeper.md: the losses are reported. */
    @Override
    public boolean outlivesDroppedConnections() {
        return false;
    }

    @Override
    public String name() {
        return "zookeeper " + version + ", " + (server.size() == 1 ? "standalone" : "ensemble of " + server.size())
                + (userInfo.isEmpty() ? "" : ", digest");
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(CONTRACT_SESSION_MILLIS);
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        return newBackend(others, CONTRACT_SESSION_MILLIS);
    }

    public ZooKeeperLockBackend newBackend(int sessionMillis) {
        return newBackend(proxies, sessionMillis);
    }

    private ZooKeeperLockBackend newBackend(List<FaultProxy> through, int sessionMillis) {
        return (ZooKeeperLockBackend)
                settings.apply(ZooKeeperLocks.owning(connect(connectString(through), sessionMillis)))
                        .basePath("/test/locks")
                        .backend();
    }

    /** A backend that bypasses the proxies. */
    public ZooKeeperLockBackend directBackend() {
        return (ZooKeeperLockBackend)
                settings.apply(ZooKeeperLocks.owning(connect(server.connectString(), SESSION_MILLIS)))
                        .basePath("/test/locks")
                        .backend();
    }

    /** A backend that connects to one server only. */
    public ZooKeeperLockBackend backendAt(int index, int sessionMillis) {
        String address = server.connectString().split(",")[index];
        return (ZooKeeperLockBackend) settings.apply(ZooKeeperLocks.owning(connect(address, sessionMillis)))
                .basePath("/test/locks")
                .backend();
    }

    public static String parent(String name) {
        return "/test/locks/" + LockName.percentEncoded(name);
    }

    @Override
    public Duration shortLease() {
        return Duration.ofMillis(1_500);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.allOf(Capability.class);
    }

    @Override
    public Set<Demand.Kind> demands() {
        return EnumSet.allOf(Demand.Kind.class);
    }

    /** Deletes the holder's node, like an administrator. */
    @Override
    public void expire(String name) throws Exception {
        List<SequentialNode> queue = queue(name);
        if (!queue.isEmpty()) {
            administrator().delete(parent(name) + "/" + queue.get(0).name(), -1);
        }
    }

    @Override
    public long entries(String name) throws Exception {
        return queue(name).size();
    }

    /** Keeps the servers from removing an empty container, which exists, in the middle of a test. */
    public void keep(String name) throws Exception {
        administrator().create(parent(name) + "/keep", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    public List<SequentialNode> queue(String name) throws Exception {
        try {
            administrator().sync(parent(name), (rc, path, context) -> {}, null);
            return SequentialNode.of(administrator().getChildren(parent(name), false));
        } catch (KeeperException.NoNodeException e) {
            return List.of();
        }
    }

    @Override
    public void pause() {
        for (int i = 0; i < server.size(); i++) {
            server.node(i).pause();
        }
    }

    @Override
    public void resume() {
        for (int i = 0; i < server.size(); i++) {
            server.node(i).resume();
        }
    }

    @Override
    public void restart() throws Exception {
        server.restart();
    }

    @Override
    public void partition() {
        proxies.forEach(FaultProxy::cut);
    }

    @Override
    public void heal() {
        proxies.forEach(FaultProxy::pass);
    }

    @Override
    public long commands() throws IOException {
        return server.monitor("zk_packets_received");
    }

    @Override
    public void close() {
        administrator.close();
        proxies.forEach(FaultProxy::close);
        server.close();
    }
}
