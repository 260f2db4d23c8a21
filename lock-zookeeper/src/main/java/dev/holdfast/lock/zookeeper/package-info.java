/**
 * Locks on Apache ZooKeeper. Start at {@link dev.holdfast.lock.zookeeper.ZooKeeperLocks}, or connect with a URI: {@code
 * zookeeper://host1:2181,host2:2181/base}.
 *
 * <p>An acquisition is an ephemeral sequential node below a container with the name of the lock. The lowest node holds
 * the lock, and its czxid is the fencing token. Each other node watches the one before it. The grant is bound to the
 * session: it is valid only as far as acknowledged writes of this process prove that the servers still keep the
 * session.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.zookeeper;
