package dev.holdfast.lock.etcd;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.EtcdNode;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

/** One etcd, or a cluster, with a proxy before each node. */
public final class EtcdFixture implements LockFixture {
    public static final String PREFIX = "test/";

    /** How long something may take that should take milliseconds, on a machine that is busy. */
    public static final Duration PATIENCE = Duration.ofMinutes(3);

    private static final List<String> METHODS = List.of(
            "Txn",
            "Range",
            "Put",
            "DeleteRange",
            "LeaseGrant",
            "LeaseRevoke",
            "LeaseKeepAlive",
            "LeaseTimeToLive",
            "Watch");

    private final EtcdServer server;
    private final EtcdMode mode;
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final Client admin;
    private final EtcdKeys keys = new EtcdKeys(PREFIX);

    private EtcdFixture(EtcdServer server, EtcdMode mode) throws IOException {
        this.server = server;
        this.mode = mode;
        for (EtcdNode node : server.nodes()) {
            proxies.add(FaultProxy.to("127.0.0.1", node.port()));
        }
        this.admin = Client.builder()
                .endpoints(server.endpoints().toArray(new String[0]))
                .waitForReady(true)
                .build();
    }

    public static EtcdFixture single() throws IOException, InterruptedException {
        return new EtcdFixture(EtcdServer.start(), EtcdMode.QUEUE);
    }

    public static EtcdFixture cluster() throws IOException, InterruptedException {
        return new EtcdFixture(EtcdServer.startCluster(3), EtcdMode.QUEUE);
    }

    /** A cluster of the version that bin/install-etcd-next has fetched. */
    static EtcdFixture nextCluster(Path binary) throws IOException, InterruptedException {
        return new EtcdFixture(EtcdServer.startCluster(binary, 3), EtcdMode.QUEUE);
    }

    /** A cluster of a given version in containers. */
    public static EtcdFixture cluster(ServerImage image) throws IOException, InterruptedException {
        return new EtcdFixture(EtcdServer.startCluster(image, 3), EtcdMode.QUEUE);
    }

    static EtcdFixture singleKey() throws IOException, InterruptedException {
        return new EtcdFixture(EtcdServer.start(), EtcdMode.SINGLE_KEY);
    }

    public EtcdServer server() {
        return server;
    }

    @Override
    public List<FaultProxy> proxies() {
        return proxies;
    }

    public FaultProxy proxy() {
        return proxies.get(0);
    }

    /** A client of the servers themselves, past the proxies. */
    public Client admin() {
        return admin;
    }

    public EtcdKeys keys() {
        return keys;
    }

    String uri() {
        StringBuilder uri = new StringBuilder("etcd://");
        proxies.forEach(proxy ->
                uri.append(uri.length() > 7 ? "," : "").append("127.0.0.1:").append(proxy.port()));
        return uri + "?prefix=" + PREFIX;
    }

    /** As the provider makes it; for the single key, as an application does. */
    public Client newEtcdClient() {
        return newEtcdClient(proxies);
    }

    private Client newEtcdClient(List<FaultProxy> through) {
        String[] endpoints = through.stream()
                .map(proxy -> "http://127.0.0.1:" + proxy.port())
                .toArray(String[]::new);
        ClientBuilder builder = Client.builder().endpoints(endpoints);
        Duration timeout = Duration.ofSeconds(10); // less than gRPC takes to find the connection dead
        return mode == EtcdMode.QUEUE
                ? EtcdLocks.dedicated(builder, timeout).build()
                : EtcdLocks.recommended(builder, timeout).build();
    }

    /** A client of one server by two ways, which it takes in turns, and of which it gives none up for minutes. */
    public static Client patientClient(FaultProxy one, FaultProxy two) {
        Duration patience = Duration.ofMinutes(3);
        return EtcdLocks.recommended(
                        Client.builder().endpoints("http://127.0.0.1:" + one.port(), "http://127.0.0.1:" + two.port()),
                        patience)
                .keepaliveTimeout(patience)
                .build();
    }

    /** Makes requests until each of the two connections carries some: one may be there for a while before it is used. */
    public static void warmUp(FaultProxy one, FaultProxy two, Callable<?> requests) {
        await().atMost(PATIENCE).until(() -> {
            boolean connected = one.connections() > 0 && two.connections() > 0;
            long before = one.piecesToServer();
            long beforeOfTwo = two.piecesToServer();
            requests.call();
            return connected && one.piecesToServer() > before && two.piecesToServer() > beforeOfTwo;
        });
    }

    @Override
    public String name() {
        return server + (mode == EtcdMode.QUEUE ? "" : ", single key");
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(proxies);
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        Client client = newEtcdClient(others);
        return EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(PREFIX)
                .mode(mode)
                .backend();
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(2);
    }

    @Override
    public int namePairs() {
        return 50;
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.allOf(Capability.class);
    }

    @Override
    public Set<Demand.Kind> demands() {
        return mode == EtcdMode.QUEUE ? EnumSet.allOf(Demand.Kind.class) : EnumSet.of(Demand.Kind.EXCLUSIVE);
    }

    /** As an administrator who deletes the holder's key. */
    @Override
    public void expire(String name) throws Exception {
        for (KeyValue holder : find(name, 1)) {
            admin.getKVClient().delete(holder.getKey()).get(1, TimeUnit.MINUTES);
        }
    }

    @Override
    public long entries(String name) throws Exception {
        return find(name, 0).size();
    }

    /** The keys in their order, each with its revisions and its lease. */
    @Override
    public String content(String name) throws Exception {
        return find(name, 0).stream()
                .map(key -> "created " + key.getCreateRevision() + ", modified " + key.getModRevision() + ", on lease "
                        + Long.toHexString(key.getLease()))
                .collect(Collectors.joining("; "));
    }

    @Override
    public void changeLeader() throws Exception {
        if (server.nodes().size() > 1) {
            EtcdClusterFaultTest.changeLeader(server.awaitLeader(), Duration.ofMinutes(1));
            server.awaitHealthy();
        }
    }

    public List<KeyValue> find(String name, long limit) throws Exception {
        return find(name, limit, 0);
    }

    /** The store's state at that revision; 0: the present state. */
    public List<KeyValue> find(String name, long limit, long revision) throws Exception {
        ByteSequence key = mode == EtcdMode.QUEUE ? keys.queue(name) : keys.single(name);
        GetOption.Builder option = GetOption.builder()
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withRevision(revision)
                .withLimit(limit);
        if (mode == EtcdMode.QUEUE) {
            option.withRange(keys.queueEnd(name)); // without the limit of permits, which stays
        }
        return admin.getKVClient()
                .get(key, option.build())
                .get(1, TimeUnit.MINUTES)
                .getKvs();
    }

    /** All keys below the prefix, tombstones among them. */
    public List<KeyValue> everything() throws Exception {
        GetOption option = GetOption.builder().isPrefix(true).build();
        return admin.getKVClient()
                .get(EtcdKeys.bytes(PREFIX), option)
                .get(1, TimeUnit.MINUTES)
                .getKvs();
    }

    @Override
    public void pause() {
        server.pause();
    }

    @Override
    public void resume() {
        server.resume();
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
    public long commands() throws Exception {
        long sum = 0;
        for (String method : METHODS) {
            sum += server.calls(method);
        }
        return sum;
    }

    @Override
    public void close() {
        admin.close();
        proxies.forEach(FaultProxy::close);
        server.close();
    }

    /** Repeats a request until it has an answer: connections are opened again after a fault. */
    public static <T> T eventually(Callable<T> request) {
        AtomicReference<T> answer = new AtomicReference<>();
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(50)).until(() -> {
            try {
                answer.set(request.call());
                return true;
            } catch (LockUnavailableException e) {
                return false;
            }
        });
        return answer.get();
    }

    /** Like {@link #eventually(Callable)}, for a request without a result. */
    public static void eventually(Runnable request) {
        eventually(Executors.callable(request));
    }
}
