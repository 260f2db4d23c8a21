package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.etcd.EtcdCredentials;
import dev.holdfast.lock.testkit.server.EtcdServer;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.auth.Permission;
import io.etcd.jetcd.options.OptionsUtil;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * An etcd with authentication: the user root, and users with the role {@code locks}, which may read and write one
 * prefix.
 */
public final class GuardedEtcd implements AutoCloseable {
    private static final String ROLE = "locks";
    private final EtcdServer server;
    private final Client admin;

    private GuardedEtcd(EtcdServer server, Client admin) {
        this.server = server;
        this.admin = admin;
    }

    public static GuardedEtcd start(String prefix) throws Exception {
        EtcdServer server = EtcdServer.start();
        try (Client open = Client.builder().endpoints(server.endpoints().get(0)).build()) {
            var auth = open.getAuthClient();
            ByteSequence from = bytes(prefix);
            done(auth.roleAdd(bytes(ROLE)));
            done(auth.roleGrantPermission(bytes(ROLE), from, OptionsUtil.prefixEndOf(from), Permission.Type.READWRITE));
            done(auth.userAdd(bytes("root"), bytes("root-password")));
            done(auth.userGrantRole(bytes("root"), bytes("root")));
            done(auth.authEnable());
        }
        Client admin = Client.builder()
                .endpoints(server.endpoints().get(0))
                .user(bytes("root"))
                .password(bytes("root-password"))
                .build();
        return new GuardedEtcd(server, admin);
    }

    private static ByteSequence bytes(String text) {
        return EtcdKeys.bytes(text);
    }

    private static <T> T done(CompletableFuture<T> call) throws Exception {
        return call.get(1, TimeUnit.MINUTES);
    }

    public EtcdServer server() {
        return server;
    }

    /** A client of root. */
    public Client admin() {
        return admin;
    }

    /** A new user who may use the prefix. */
    public EtcdCredentials newUser(String name, String password) throws Exception {
        EtcdCredentials user = newStranger(name, password);
        allow(user);
        return user;
    }

    /** A new user who may do nothing. */
    public EtcdCredentials newStranger(String name, String password) throws Exception {
        done(admin.getAuthClient().userAdd(bytes(name), bytes(password)));
        return new EtcdCredentials(name, password);
    }

    public void allow(EtcdCredentials user) throws Exception {
        done(admin.getAuthClient().userGrantRole(bytes(user.user()), bytes(ROLE)));
    }

    public void forbid(EtcdCredentials user) throws Exception {
        done(admin.getAuthClient().userRevokeRole(bytes(user.user()), bytes(ROLE)));
    }

    public void delete(EtcdCredentials user) throws Exception {
        done(admin.getAuthClient().userDelete(bytes(user.user())));
    }

    public void changePassword(String user, String password) throws Exception {
        done(admin.getAuthClient().userChangePassword(bytes(user), bytes(password)));
    }

    @Override
    public void close() {
        admin.close();
        server.close();
    }
}
