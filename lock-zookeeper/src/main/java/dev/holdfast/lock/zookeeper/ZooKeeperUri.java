package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A parsed address: {@code zookeeper://[user:password@]host[:port][,host[:port]]…[/base][?parameters]}. Immutable.
 *
 * @param connectString the servers, in the format of ZooKeeper's client
 * @param basePath the base path of the locks
 * @param credentials {@code user:password} for the digest scheme, or null
 * @param sessionMillis the requested session time-out, or 0 to take it from the lease
 * @param tls whether to encrypt
 * @param acl the owner of new nodes
 */
record ZooKeeperUri(
        String connectString, String basePath, @Nullable String credentials, int sessionMillis, boolean tls, Acl acl) {

    /** The owner of new nodes. */
    enum Acl {
        /** The identity that creates them. */
        CREATOR,
        /** All clients. */
        WORLD,
        /** Not given: the identity of the session if it has one, otherwise all clients. */
        BY_SESSION
    }

    static final Set<String> SCHEMES = Set.of("zookeeper", "zk");

    private static final Set<String> PARAMETERS = Set.of("sessionTimeout", "tls", "acl");
    private static final int PORT = 2181;
    private static final int MAX_SESSION_MILLIS = 36 * 60 * 60 * 1_000;

    static ZooKeeperUri parse(String text) {
        LockUri uri = LockUri.parse(text, PARAMETERS);
        if (!SCHEMES.contains(uri.scheme())) {
            throw uri.malformed("the scheme is not one of ZooKeeper; write zookeeper://");
        }
        uri.refuseFragment();
        String base = uri.path().replaceAll("/+$", "");
        return new ZooKeeperUri(
                uri.hosts().stream().map(host -> host.withPort(PORT)).collect(Collectors.joining(",")),
                base.isEmpty() ? ZooKeeperLocks.Builder.DEFAULT_BASE : base(uri, base),
                credentials(uri),
                sessionMillis(uri),
                tls(uri),
                acl(uri));
    }

    /** The servers to connect to. */
    ConnectDiagnosis.Target target() {
        List<LockUri.Host> servers = new ArrayList<>();
        for (String server : connectString.split(",")) {
            int colon = server.lastIndexOf(':');
            servers.add(new LockUri.Host(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1))));
        }
        return new ConnectDiagnosis.Target(
                "zookeeper://" + connectString + (tls ? "?tls=true" : ""),
                servers,
                tls,
                tls ? "the address without tls=true" : "?tls=true behind the address");
    }

    /** The message of the check contains the path, which a URI error must not repeat. */
    private static String base(LockUri uri, String path) {
        try {
            return LockTree.requireBase(path);
        } catch (IllegalArgumentException e) {
            throw uri.malformed(
                    "the path is not one for locks: without empty, . or .. parts, and not below /zookeeper");
        }
    }

    private static @Nullable String credentials(LockUri uri) {
        if (uri.user().isEmpty()) {
            return null;
        }
        String user = uri.user().get();
        if (user.isEmpty() || uri.password().isEmpty()) {
            throw uri.malformed("the user information is not user:password");
        }
        return user + ":" + uri.password().get();
    }

    /**
     * The session time-out for a client: its default lease, so that a crashed holder blocks other clients no longer
     * than that. Two thirds of it are certain (see {@code Session}), which is enough for a lease that is renewed. A
     * lease that is not renewed must count in full, so it gets half as long again.
     */
    int sessionMillis(LockClientOptions options) {
        if (sessionMillis > 0) {
            return sessionMillis;
        }
        long lease = options.lockOptions().lease().toMillis();
        long session = options.lockOptions().renewal() == Renewal.AUTO ? lease : lease + (lease + 1) / 2;
        return (int) Math.min(session, MAX_SESSION_MILLIS);
    }

    private static int sessionMillis(LockUri uri) {
        String text = uri.parameter("sessionTimeout").orElse("0");
        if (uri.parameter("sessionTimeout").isPresent() && !text.matches("[1-9]\\d{0,7}")) {
            throw uri.malformed("sessionTimeout is not a number of milliseconds from 1 to 99999999");
        }
        return Math.min(Integer.parseInt(text), MAX_SESSION_MILLIS);
    }

    private static boolean tls(LockUri uri) {
        return switch (uri.parameter("tls").orElse("false")) {
            case "true" -> true;
            case "false" -> false;
            default -> throw uri.malformed("tls is neither true nor false");
        };
    }

    private static Acl acl(LockUri uri) {
        if (uri.parameter("acl").isEmpty()) {
            return uri.user().isPresent() ? Acl.CREATOR : Acl.BY_SESSION;
        }
        return switch (uri.parameter("acl").get()) {
            case "creator" -> Acl.CREATOR;
            case "world" -> Acl.WORLD;
            default -> throw uri.malformed("acl is neither creator nor world");
        };
    }

    @Override
    public String toString() {
        return "ZooKeeperUri[" + connectString + basePath + (credentials == null ? "" : ", with credentials") + "]";
    }
}
