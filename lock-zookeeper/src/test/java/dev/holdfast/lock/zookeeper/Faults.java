package dev.holdfast.lock.zookeeper;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** Injects faults into sessions. */
final class Faults {

    private Faults() {}

    /** Makes the server end a backend's session, by closing a second handle of the same session. */
    static void expireByServer(ZooKeeperFixture fixture, ZooKeeperLockBackend backend) throws Exception {
        ZooKeeper victim = backend.session().handle();
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper twin = new ZooKeeper(
                fixture.server().connectString(),
                victim.getSessionTimeout(),
                event -> {
                    if (event.getState() == KeeperState.SyncConnected) {
                        connected.countDown();
                    }
                },
                victim.getSessionId(),
                victim.getSessionPasswd());
        try {
            if (!connected.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the session's second handle did not connect");
            }
        } finally {
            twin.close();
        }
    }

    /** Ends a session on the client's side only: its nodes stay until the server notices. */
    static void expireByClient(ZooKeeperLockBackend backend) {
        backend.session().handle().getTestable().injectSessionExpiration();
    }
}
