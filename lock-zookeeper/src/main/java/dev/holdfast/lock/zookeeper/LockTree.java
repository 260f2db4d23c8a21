package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.LockName;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.data.ACL;

/**
 * The paths of locks: {@code base/<encoded name>/<owner>-<sequence>}. The nodes of the base path are persistent. The
 * node of a name is a container, which the servers remove some time after it became empty. Immutable.
 */
final class LockTree {

    /** The child that stores the limit and the slots of permits. */
    static final String PERMITS = "permits";

    private static final byte[] NOTHING = new byte[0];

    private final String base;
    private final List<ACL> acl;
    private final List<String> levels;

    /**
     * Creates the tree.
     *
     * @param base an absolute path as ZooKeeper's client sees it; not the root
     * @param acl the ACL of all nodes that are created
     * @throws IllegalArgumentException if the path cannot hold locks
     */
    LockTree(String base, List<ACL> acl) {
        this.base = requireBase(base);
        // Not List.copyOf: ZooKeeper's client calls contains(null), which such a list refuses.
        this.acl = Collections.unmodifiableList(new ArrayList<>(acl));
        this.levels = new ArrayList<>();
        for (int slash = base.indexOf('/', 1); slash > 0; slash = base.indexOf('/', slash + 1)) {
            levels.add(base.substring(0, slash));
        }
        levels.add(base);
    }

    static String requireBase(String base) {
        PathUtils.validatePath(base);
        if (base.equals("/") || base.equals("/zookeeper") || base.startsWith("/zookeeper/")) {
            throw new IllegalArgumentException(
                    "base path '" + base + "' cannot hold locks; choose a node of your own, such as /holdfast");
        }
        return base;
    }

    String base() {
        return base;
    }

    List<ACL> acl() {
        return acl;
    }

    /** The path of a child of the base; its name is already encoded. */
    String child(String encodedName) {
        return base + "/" + encodedName;
    }

    /**
     * The path of the node with the limit and the slots of a name's permits. It is a child of the node of the name,
     * which therefore stays.
     */
    String permits(String lockName) {
        return parent(lockName) + "/" + PERMITS;
    }

    String parent(String lockName) {
        return base + "/" + LockName.percentEncoded(lockName);
    }

    /**
     * Creates the nodes above the acquisitions, in one trip.
     *
     * @return completes normally as soon as the name's node exists or has existed for a moment
     */
    CompletableFuture<Void> ensureParent(Session session, String parent) {
        for (String level : levels) {
            // A refusal shows again at the next level, except for a level that exists and is not writable.
            Futures.ignore(session.create(level, NOTHING, acl, CreateMode.PERSISTENT));
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        Futures.listen(session.create(parent, NOTHING, acl, CreateMode.CONTAINER), (created, failure) -> {
            if (failure == null || ZooKeeperFailures.is(failure, Code.NODEEXISTS)) {
                done.complete(null);
            } else {
                done.completeExceptionally(failure);
            }
        });
        return done;
    }
}
