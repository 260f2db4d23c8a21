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
 * Where locks live: {@code base/<encoded name>/<owner>-<sequence>}. The nodes of the base path are persistent, the one of
 * a name is a container, which the servers remove when it has been empty for a while. Immutable.
 */
final class LockTree {

    /** The child with the limit and the slots of permits. */
    static final String PERMITS = "permits";

    private static final byte[] NOTHING = new byte[0];

    private final String base;
    private final List<ACL> acl;
    private final List<String> levels;

    /**
     * Makes the tree.
     *
     * @param base an absolute path as the raw handle sees it; not the root
     * @param acl for every node that is created
     * @throws IllegalArgumentException if the path is not one for locks
     */
    LockTree(String base, List<ACL> acl) {
        this.base = requireBase(base);
        // Not List.copyOf, since the handle asks whether the list contains null, which such a list refuses.
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

    /** Where a child of the base is, whose name is encoded already. */
    String child(String encodedName) {
        return base + "/" + encodedName;
    }

    /** Where the {@linkplain PermitBook book} of a name's permits is, in the node of the name, which stays therefore. */
    String permits(String lockName) {
        return parent(lockName) + "/" + PERMITS;
    }

    String parent(String lockName) {
        return base + "/" + LockName.percentEncoded(lockName);
    }

    /**
     * Creates the nodes above the acquisitions, in one trip.
     *
     * @return completes normally as soon as the name's node exists or existed for a moment
     */
    CompletableFuture<Void> ensureParent(Session session, String parent) {
        for (String level : levels) {
            // A refusal shows again at the next level, but for a level that exists and may not be written.
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
