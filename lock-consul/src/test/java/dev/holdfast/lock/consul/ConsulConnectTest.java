package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.ConnectFailure;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.SelfSignedCertificate;
import dev.holdfast.lock.testkit.server.WrongPorts;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The messages for addresses that do not lead to Consul. */
final class ConsulConnectTest {

    @Test
    void noStore_saysWhatIsWrong() throws Exception {
        try (WrongPorts wrong = new WrongPorts()) {
            ConnectFailure.of("consul://" + wrong.refused()).mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("consul://no.such.host.invalid").mayPass("no.such.host.invalid", "unknown host");
            ConnectFailure.of("consul://" + wrong.silent()).mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of("consul://" + wrong.silent() + "," + wrong.refused())
                    .mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("consul://" + wrong.otherProtocol()).lasts(wrong.otherProtocol(), "is not Consul");
        }
    }

    @Test
    void tls_whereThereIsNone_andViceVersa_saysSo(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        try (ConsulServer server = ConsulServer.startTls(own.certificate(), own.key())) {
            String inClear = "127.0.0.1:" + server.agent().port();
            String encrypted = "127.0.0.1:" + server.tlsPort();
            ConnectFailure.of("consuls://" + inClear).lasts(inClear, "does not speak TLS");
            ConnectFailure.of("consul://" + encrypted).lasts(encrypted, "speaks TLS; write consuls://");
            ConnectFailure.of("consuls://" + encrypted).lasts(encrypted, "TLS");
        }
    }

    @Test
    void token_wrong_saysSo() throws Exception {
        try (ConsulServer server = ConsulServer.startWithAcl("b1e7c0de-0000-4000-8000-0000000000aa")) {
            String place = "127.0.0.1:" + server.agent().port();
            ConnectFailure.of("consul://:ca9a2700-7e57-4000-8000-00000000c0de@" + place)
                    .lasts(place, "Consul refuses it");
            ConnectFailure.of("consul://" + place).lasts(place, "Consul refuses it");
        }
    }
}
