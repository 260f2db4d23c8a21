package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.support.EarlyClasses;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import java.util.List;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Creates lock clients on ZooKeeper from the application's own Curator framework, which the lock client never closes.
 *
 * <pre>{@code
 * try (LockClient locks = ZooKeeperLocks.builder(curatorFramework).basePath("/shop/locks").build()) {
 *     locks.lock("orders/42").lock();
 * }
 * }</pre>
 *
 * <p><b>The session is the lease.</b> The framework's session keeps a lock. A crashed holder blocks other clients for
 * the session time-out, and a grant or renewal counts as valid for at most two thirds of it. So make the framework with a session
 * time-out of the lease, or of one and a half times a lease that is not renewed or that {@code ensure} must be able to fill.
 * While the process lives, a shorter lease also counts: a grant that is not renewed is deleted when its lease ends.
 */
public final class ZooKeeperLocks {
    /** Those that neither the start of a client nor its first lock initializes. */
    private static final String[] LATE_CLASSES = {
        "internal.permit.PermitAcquirer$1",
        "internal.permit.PermitStateStore$Written",
        "internal.session.LineRegistry$1",
        "internal.session.SessionTracker$1",
        "internal.session.ZooKeeperFailures$1",
    };

    private ZooKeeperLocks() {}

    /**
     * Starts from a framework.
     *
     * @param client started, and open for longer than the lock client; not closed by it. A namespace is respected, except that a
     *     view by {@code usingNamespace} is refused, since it reports no events
     * @return a builder
     */
    public static Builder builder(CuratorFramework client) {
        return new Builder(client, false);
    }

    static Builder owning(CuratorFramework client) {
        return new Builder(client, true);
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        static final String DEFAULT_BASE = "/holdfast";

        private final CuratorFramework client;
        private final boolean owned;
        private @Nullable LockClientOptions options;
        private @Nullable String basePath;
        private @Nullable List<ACL> acl;

        private Builder(CuratorFramework client, boolean owned) {
            this.client = Objects.requireNonNull(client, "client must not be null");
            this.owned = owned;
        }

        /**
         * Sets the client's options; by default {@link LockClientOptions#defaults()}.
         *
         * @param options the options
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder options(LockClientOptions options) {
            this.options = once("options", this.options, options);
            return this;
        }

        /**
         * Sets the path below which the locks live, inside the framework's namespace; by default {@code /holdfast}. It is
         * created when it is missing. Locks of different base paths are different locks.
         *
         * @param basePath an absolute path that is not the root
         * @return this
         * @throws IllegalArgumentException if it is not such a path
         * @throws IllegalStateException if already set
         */
        public Builder basePath(String basePath) {
            Objects.requireNonNull(basePath, "basePath must not be null");
            this.basePath = once("basePath", this.basePath, LockTree.requireBase(basePath));
            return this;
        }

        /**
         * Sets the access control list of all nodes that the client creates. By default every client has all
         * permissions, even if the framework is authenticated. All clients of a lock need the permissions create, read
         * and delete; clients of a semaphore also need write. Use {@code CREATOR_ALL_ACL} where they share an identity
         * (digest, SASL or x509).
         *
         * @param acl the list, not empty
         * @return this
         * @throws IllegalArgumentException if the list is empty
         * @throws IllegalStateException if already set
         */
        public Builder acl(List<ACL> acl) {
            if (acl.isEmpty()) {
                throw new IllegalArgumentException(
                        "the access control list is empty; name the identities and their permissions");
            }
            this.acl = once("acl", this.acl, List.copyOf(acl));
            return this;
        }

        /**
         * Creates the client; it sends nothing yet.
         *
         * @return an open client
         * @throws IllegalArgumentException if the framework is a view by {@code usingNamespace}
         * @throws IllegalStateException if the framework is not started
         */
        public LockClient build() {
            return LockEngine.client(backend(), chosen());
        }

        private LockClientOptions chosen() {
            return options == null ? LockClientOptions.defaults() : options;
        }

        /** Creates the backend, without the engine. */
        LockBackend backend() {
            EarlyClasses.initialize(ZooKeeperLocks.class, LATE_CLASSES);
            if (client.getState() != CuratorFrameworkState.STARTED) {
                throw new IllegalStateException(
                        "the CuratorFramework is " + client.getState() + "; start it before the lock client is built");
            }
            requireEvents();
            String namespace = client.getNamespace();
            String path = basePath == null ? DEFAULT_BASE : basePath;
            return new ZooKeeperLockBackend(
                    client,
                    owned,
                    namespace == null || namespace.isEmpty() ? path : ZKPaths.fixForNamespace(namespace, path),
                    acl == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : acl,
                    Math.max(1, chosen().requestTimeout().toMillis() / 2));
        }

        /** Session events are reported only by the framework itself. */
        private void requireEvents() {
            try {
                client.getCuratorListenable();
            } catch (UnsupportedOperationException e) {
                throw new IllegalArgumentException(
                        "the CuratorFramework is a view by usingNamespace(\"" + client.getNamespace()
                                + "\"), which reports no events; give the framework itself, and the namespace as a part of basePath",
                        e);
            }
        }

        private static <T> T once(String what, @Nullable T before, T value) {
            Objects.requireNonNull(value, what + " must not be null");
            if (before != null) {
                throw new IllegalStateException(what + " was already set to " + before);
            }
            return value;
        }
    }
}
