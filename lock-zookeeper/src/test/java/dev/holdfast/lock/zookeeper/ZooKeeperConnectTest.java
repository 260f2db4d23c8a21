package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.ConnectFailure;
import dev.holdfast.lock.testkit.server.WrongPorts;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import org.junit.jupiter.api.Test;

/** The messages for addresses that do not lead to ZooKeeper; its own client has none. */
final class ZooKeeperConnectTest {

    @Test
    void noStore_saysWhatIsWrong() throws Exception {
        try (WrongPorts wrong = new WrongPorts()) {
            ConnectFailure.of("zookeeper://" + wrong.refused()).mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("zookeeper://no.such.host.invalid").mayPass("no.such.host.invalid", "unknown host");
            ConnectFailure.of("zookeeper://" + wrong.silent()).mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of("zookeeper://" + wrong.otherProtocol()).lasts(wrong.otherProtocol(), "is not ZooKeeper");
        }
    }

    @Test
    void tls_whereThereIsNone_saysSo() throws Exception {
        try (ZooKeeperServer plain = Servers.single().start()) {
            ConnectFailure.of("zookeeper://" + plain.connectString() + "?tls=true")
                    .lasts(plain.connectString(), "does not speak TLS");
        }
    }
}
