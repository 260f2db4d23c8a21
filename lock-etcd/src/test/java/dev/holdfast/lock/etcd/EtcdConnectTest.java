package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.WrongPorts;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.ConnectFailure;
import io.etcd.jetcd.Client;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said of addresses that do not lead to etcd. */
final class EtcdConnectTest {

    @Test
    void noStore_saysWhatIsWrong() throws Exception {
        try (WrongPorts wrong = new WrongPorts()) {
            ConnectFailure.of("etcd://" + wrong.silent()).mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of("etcds://" + wrong.silent()).mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of("etcd://" + wrong.refused()).mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("etcd://u:p@" + wrong.refused()).mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("etcd://no.such.host.invalid").mayPass("no.such.host.invalid", "unknown host");
            ConnectFailure.of("etcd://" + wrong.refused() + ",no.such.host.invalid")
                    .mayPass(wrong.refused() + ": connection refused", "no.such.host.invalid:2379: unknown host");
            ConnectFailure.of("etcd://" + wrong.otherProtocol()).lasts(wrong.otherProtocol(), "is not etcd");
        }
    }

    @Test
    void tls_whereThereIsNone_andViceVersa_saysSo(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        try (EtcdServer plain = EtcdServer.start();
                EtcdServer tls = EtcdServer.startTls(own.certificate(), own.key())) {
            String inClear = plain.hostsAndPorts();
            String encrypted = tls.hostsAndPorts();
            ConnectFailure.of("etcds://" + inClear).lasts(inClear, "does not speak TLS");
            ConnectFailure.of("etcd://" + encrypted).lasts(encrypted, "speaks TLS; write etcds://");
            ConnectFailure.of("etcds://" + encrypted).lasts(encrypted, "TLS handshake failed");
        }
    }

    /** In the run of a loaded machine, loading gRPC and Netty alone took a process three times its request time-out. */
    @Test
    void firstConnection_ofAProcess_isTriedAgainWhileTheServerAnswersOtherwise() throws Exception {
        Duration timeout = Duration.ofSeconds(1);
        try (EtcdServer server = EtcdServer.start();
                FaultProxy slow =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                Client client = Client.builder()
                        .endpoints("http://" + slow.host() + ":" + slow.port())
                        .build()) {
            EtcdUri address = EtcdUri.parse("etcd://" + server.hostsAndPorts());
            slow.hold();
            assertThatThrownBy(() -> EtcdLockProvider.probe(client, address, "p/", timeout, 0))
                    .isInstanceOf(LockUnavailableException.class);
            CompletableFuture.runAsync(
                    slow::pass, CompletableFuture.delayedExecutor(2 * timeout.toMillis(), TimeUnit.MILLISECONDS));
            EtcdLockProvider.probe(client, address, "p/", timeout, 60);
        }
    }
}
