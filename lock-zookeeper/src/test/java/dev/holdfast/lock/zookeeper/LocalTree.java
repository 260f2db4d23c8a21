package dev.holdfast.lock.zookeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CheckVersionRequest;
import org.apache.zookeeper.proto.SetDataRequest;

/** The nodes of a simulated ensemble, as far as locks need them. Thread-safe. */
public final class LocalTree {

    /** A node. */
    public static final class Node {
        public final CreateMode mode;
        public final List<ACL> acl;
        public final Stat stat = new Stat();
        public byte[] data;
        public int created;

        Node(CreateMode mode, List<ACL> acl, byte[] data) {
            this.mode = mode;
            this.acl = acl;
            this.data = data;
        }
    }

    /** The result of a request. */
    public record Outcome(Code code, String path, Stat stat, List<OpResult> results) {
        static Outcome refused(Code code, String path) {
            return new Outcome(code, path, null, List.of());
        }
    }

    /** The nodes by their paths. */
    public final Map<String, Node> nodes = new ConcurrentSkipListMap<>();

    public final List<LocalZooKeeper> handles = new CopyOnWriteArrayList<>();

    /** The zxid of the last write. */
    volatile long zxid = 1_000;

    static Stat copy(Stat stat) {
        return new Stat(
                stat.getCzxid(),
                stat.getMzxid(),
                stat.getCtime(),
                stat.getMtime(),
                stat.getVersion(),
                stat.getCversion(),
                stat.getAversion(),
                stat.getEphemeralOwner(),
                stat.getDataLength(),
                stat.getNumChildren(),
                stat.getPzxid());
    }

    static String parent(String path) {
        int slash = path.lastIndexOf('/');
        return slash <= 0 ? "/" : path.substring(0, slash);
    }

    public Outcome create(String path, byte[] data, List<ACL> acl, CreateMode mode, long session) {
        Outcome created = add(path, data, acl, mode, session);
        if (created.code() == Code.OK) {
            tell(EventType.NodeCreated, created.path());
        }
        return created;
    }

    private synchronized Outcome add(String path, byte[] data, List<ACL> acl, CreateMode mode, long session) {
        Node parent = nodes.get(parent(path));
        if (parent == null && !parent(path).equals("/")) {
            return Outcome.refused(Code.NONODE, path);
        }
        String name = mode.isSequential() ? path + String.format("%010d", parent.created) : path;
        if (nodes.containsKey(name)) {
            return Outcome.refused(Code.NODEEXISTS, path);
        }
        Node node = new Node(mode, acl, data);
        zxid++;
        node.stat.setCzxid(zxid);
        node.stat.setMzxid(zxid);
        node.stat.setCtime(1_700_000_000_000L + zxid);
        node.stat.setEphemeralOwner(mode.isEphemeral() ? session : 0);
        if (parent != null) {
            parent.created++;
        }
        nodes.put(name, node);
        return new Outcome(Code.OK, name, node.stat, List.of());
    }

    public Outcome delete(String path) {
        synchronized (this) {
            if (nodes.remove(path) == null) {
                return Outcome.refused(Code.NONODE, path);
            }
            zxid++;
        }
        tell(EventType.NodeDeleted, path);
        return new Outcome(Code.OK, path, null, List.of());
    }

    /** The children of a node, unsorted; null if the node does not exist. */
    public synchronized List<String> children(String path) {
        if (!nodes.containsKey(path)) {
            return null;
        }
        return nodes.keySet().stream()
                .filter(each -> parent(each).equals(path))
                .map(each -> each.substring(path.length() + 1))
                .toList();
    }

    /** Executes all operations or none. */
    Outcome transact(Iterable<Op> operations) {
        List<OpResult> results = new ArrayList<>();
        List<String> changed = new ArrayList<>();
        Code refusal = Code.OK;
        synchronized (this) {
            for (Op each : operations) {
                Code code = refusal == Code.OK ? check(each) : Code.RUNTIMEINCONSISTENCY;
                refusal = refusal == Code.OK ? code : refusal;
                results.add(new OpResult.ErrorResult(code.intValue()));
            }
            if (refusal != Code.OK) {
                return new Outcome(refusal, null, null, results);
            }
            zxid++;
            for (Op each : operations) {
                if (each.toRequestRecord() instanceof SetDataRequest request) {
                    Node node = nodes.get(request.getPath());
                    node.data = request.getData();
                    node.stat.setVersion(node.stat.getVersion() + 1);
                    node.stat.setMzxid(zxid);
                    changed.add(request.getPath());
                }
            }
        }
        changed.forEach(path -> tell(EventType.NodeDataChanged, path));
        return new Outcome(Code.OK, null, null, results);
    }

    private Code check(Op operation) {
        Node node = nodes.get(operation.getPath());
        if (node == null) {
            return Code.NONODE;
        }
        int version = operation.getType() == OpCode.check
                ? ((CheckVersionRequest) operation.toRequestRecord()).getVersion()
                : ((SetDataRequest) operation.toRequestRecord()).getVersion();
        return version == -1 || version == node.stat.getVersion() ? Code.OK : Code.BADVERSION;
    }

    /** Ends a session and deletes its nodes. */
    void end(long session) {
        for (String path : List.copyOf(nodes.keySet())) {
            Node node = nodes.get(path);
            if (node != null && node.stat.getEphemeralOwner() == session) {
                delete(path);
            }
        }
    }

    private void tell(EventType type, String path) {
        List.copyOf(handles).forEach(handle -> handle.tell(type, path));
    }
}
