package dev.holdfast.lock.zookeeper;

/**
 * A node of this client on the servers. Immutable.
 *
 * @param session the session that owns the node
 * @param path the node's path
 * @param czxid the zxid of its creation
 */
record LockNode(Session session, String path, long czxid) {
    /** The last part of the path. */
    String child() {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** The sequence in the node's name, or -1 if it has none. */
    int sequence() {
        return SequentialNode.parse(child()).map(SequentialNode::sequence).orElse(-1);
    }
}
