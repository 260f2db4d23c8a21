package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ClientInfo;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether a new session has an identity, to which its nodes can belong.
 *
 * <p>ZooKeeper's client continues without SASL if its login fails, and the session then looks like one that never had
 * an identity. So a session without the identity that it was configured for is refused. As a listener, registered
 * before the framework starts, this class sees the failed login. Thread-safe.
 */
public final class SessionIdentity implements CuratorListener {

    private static final int TRIES = 3;

    private final String servers;
    private final ZKClientConfig config;
    private volatile boolean loginFailed;

    public SessionIdentity(String servers, ZKClientConfig config) {
        this.servers = servers;
        this.config = config;
    }

    @Override
    public void eventReceived(CuratorFramework client, CuratorEvent event) {
        loginFailed |=
                event.getWatchedEvent() != null && event.getWatchedEvent().getState() == KeeperState.AuthFailed;
    }

    /**
     * Whether the session is authenticated, by digest, SASL or a certificate.
     *
     * @throws LockConfigurationException if it should be and is not
     * @throws LockUnavailableException if the servers do not answer by the deadline
     */
    public boolean isAuthenticated(CuratorFramework client, long deadlineNanos) {
        List<String> schemes = askBy(deadlineNanos, client).stream()
                .map(ClientInfo::getAuthScheme)
                .filter(scheme -> !scheme.equals("ip"))
                .toList();
        if (isSaslConfigured() && !schemes.contains("sasl") || loginFailed && schemes.isEmpty()) {
            throw new LockConfigurationException(
                    "ZooKeeper at " + servers + ": this client is configured to log in by"
                            + " SASL (section '" + section()
                            + "' of the JVM's login configuration), and the servers did not"
                            + " authenticate it by SASL; check the section and its credentials, or set "
                            + ZKClientConfig.ENABLE_CLIENT_SASL_KEY
                            + "=false if it should not log in, or add acl=world to the address if all clients may use its nodes");
        }
        return !schemes.isEmpty();
    }

    /** Decides like ZooKeeper's client whether to log in. A file that cannot be read counts as a failed login. */
    private boolean isSaslConfigured() {
        try {
            return config.isSaslClientEnabled()
                    && Configuration.getConfiguration().getAppConfigurationEntry(section()) != null;
        } catch (SecurityException | IllegalArgumentException e) {
            return false;
        }
    }

    private String section() {
        return config.getProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, ZKClientConfig.LOGIN_CONTEXT_NAME_KEY_DEFAULT);
    }

    /** The request has no time-out, so another thread sends it. */
    private List<ClientInfo> askBy(long deadlineNanos, CuratorFramework client) {
        FutureTask<@Nullable List<ClientInfo>> answer = new FutureTask<>(() -> ask(client));
        Thread asking = ClientThreads.daemon("holdfast-zookeeper-connect", answer);
        asking.start();
        @Nullable Throwable cause = null;
        try {
            List<ClientInfo> identities = answer.get(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (identities != null) {
                return identities;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockUnavailableException("interrupted while connecting to ZooKeeper", e);
        } catch (TimeoutException e) {
            cause = e;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof LockException refused) {
                throw refused;
            }
            cause = e.getCause();
        } finally {
            answer.cancel(true);
        }
        throw new LockUnavailableException(
                "ZooKeeper at " + servers
                        + " did not return the identity of this client in time, which servers can since 3.7; check"
                        + " the network, or add acl=creator or acl=world to the address",
                cause);
    }

    /** Asks the servers for the identities; null if they return none. The answer is never incomplete. */
    private @Nullable List<ClientInfo> ask(CuratorFramework client) throws Exception {
        for (int i = 0; i < TRIES; i++) {
            ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
            List<ClientInfo> identities = zk.whoAmI();
            if (identities != null) {
                return identities;
            }
            if (zk.getState() == ZooKeeper.States.AUTH_FAILED) {
                throw new LockConfigurationException("ZooKeeper at " + servers
                        + ": this client could not authenticate; check its login configuration and credentials");
            }
        }
        return null;
    }
}
