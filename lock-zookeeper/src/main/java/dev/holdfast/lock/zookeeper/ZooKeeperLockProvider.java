package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.Greeting;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import dev.holdfast.lock.zookeeper.internal.session.SessionIdentity;
import dev.holdfast.lock.zookeeper.internal.session.ZooKeeperFailures;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;

/**
 * Connects to {@code zookeeper://[user:password@]host[:port],…[/base][?sessionTimeout=millis&tls=true]}, or {@code
 * zk://}.
 *
 * <p>With a user and password, the client authenticates by digest. An authenticated client (digest, SASL or
 * certificate) is the only owner of the nodes that it creates. {@code acl=world} opens them to all clients, which is
 * the default for a client without an identity. The client asks the servers for its identity, unless the address has a
 * user or an {@code acl}. If a client is configured to log in by SASL and the login fails, connecting fails.
 *
 * <p>The session time-out is the default lease of the client's options, unless the address has another one; the servers
 * may bound it. A grant is certain for two thirds of it at a time, and is renewed in time. If the default lease is not
 * renewed, the session time-out is half as long again, so that the lease counts in full. With {@code tls=true}
 * ZooKeeper's client uses Netty, and the trust and key stores of the system properties {@code zookeeper.ssl.*}.
 *
 * <p>Stateless and thread-safe.
 */
public final class ZooKeeperLockProvider implements LockProvider {

    private static final int RETRY_MILLIS = 200;
    private static final int CLOSE_MILLIS = 1_000;

    /** A server that does not allow the command answers so. */
    private static final Greeting RUOK = new Greeting(
            "ZooKeeper",
            "ruok".getBytes(StandardCharsets.US_ASCII),
            said -> new String(said, StandardCharsets.US_ASCII).matches("(?s)(imok|ruok|This ZooKeeper).*"));

    /** Used by the service loader. */
    public ZooKeeperLockProvider() {}

    @Override
    public Set<String> schemes() {
        return ZooKeeperUri.SCHEMES;
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        ZooKeeperUri address = ZooKeeperUri.parse(uri);
        long deadlineNanos = System.nanoTime() + options.requestTimeout().toNanos();
        ZKClientConfig config = config(address);
        SessionIdentity identity = new SessionIdentity(address.connectString(), config);
        CuratorFramework client = start(address, options, config, identity);
        try {
            boolean creatorOnly = switch (address.acl()) {
                case CREATOR -> true;
                case WORLD -> false;
                case BY_SESSION -> identity.isAuthenticated(client, deadlineNanos);
            };
            ZooKeeperLocks.Builder builder =
                    ZooKeeperLocks.owning(client).options(options).basePath(address.basePath());
            return (creatorOnly ? builder.acl(ZooDefs.Ids.CREATOR_ALL_ACL) : builder).build();
        } catch (RuntimeException | LinkageError e) {
            ZooKeeperLockBackend.closing(client);
            throw e;
        }
    }

    /** The settings of ZooKeeper's client. */
    static ZKClientConfig config(ZooKeeperUri address) {
        ZKClientConfig config = new ZKClientConfig();
        if (address.tls()) {
            config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
            config.setProperty(
                    ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        }
        return config;
    }

    /** Starts a framework and waits until it is connected. */
    static CuratorFramework start(ZooKeeperUri address, LockClientOptions options) {
        return start(address, options, config(address), (client, event) -> {});
    }

    /** The framework's settings. */
    static CuratorFrameworkFactory.Builder framework(
            ZooKeeperUri address, LockClientOptions options, ZKClientConfig config) {
        int sessionMillis = address.sessionMillis(options);
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(address.connectString())
                .sessionTimeoutMs(sessionMillis)
                .connectionTimeoutMs((int) Math.min(
                        sessionMillis, Math.max(1, options.requestTimeout().toMillis())))
                .maxCloseWaitMs(CLOSE_MILLIS)
                .retryPolicy(new RetryForever(RETRY_MILLIS))
                .ensembleTracker(false)
                .zkClientConfig(config);
        if (address.credentials() != null) {
            builder.authorization("digest", address.credentials().getBytes(StandardCharsets.UTF_8));
        }
        return builder;
    }

    private static CuratorFramework start(
            ZooKeeperUri address, LockClientOptions options, ZKClientConfig config, CuratorListener listener) {
        long timeoutMillis = options.requestTimeout().toMillis();
        CuratorFramework client = framework(address, options, config).build();
        client.getCuratorListenable().addListener(listener);
        client.start();
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        try (ConnectDiagnosis diagnosis =
                new ConnectDiagnosis(address.target(), RUOK, ZooKeeperFailures.TRANSLATOR, deadlineNanos)) {
            return connected(client, timeoutMillis, diagnosis);
        }
    }

    private static CuratorFramework connected(CuratorFramework client, long timeoutMillis, ConnectDiagnosis diagnosis) {
        try {
            if (!client.blockUntilConnected((int) Math.min(timeoutMillis, Integer.MAX_VALUE), TimeUnit.MILLISECONDS)) {
                throw new TimeoutException("no session within " + timeoutMillis
                        + " ms (has the ensemble a quorum? does it ask for a login, or for a certificate?)");
            }
            return client;
        } catch (TimeoutException e) {
            ZooKeeperLockBackend.closing(client);
            throw diagnosis.explain(e);
        } catch (InterruptedException e) {
            ZooKeeperLockBackend.closing(client);
            Thread.currentThread().interrupt();
            throw new LockUnavailableException("interrupted while connecting to ZooKeeper", e);
        }
    }
}
