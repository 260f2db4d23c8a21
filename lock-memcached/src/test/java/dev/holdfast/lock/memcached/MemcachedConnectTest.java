package dev.holdfast.lock.memcached;

import dev.holdfast.lock.testkit.ConnectFailure;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.SelfSignedCertificate;
import dev.holdfast.lock.testkit.server.WrongPorts;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The messages for addresses that do not lead to memcached. */
final class MemcachedConnectTest {

    @Test
    void noStore_saysWhatIsWrong() throws Exception {
        try (WrongPorts wrong = new WrongPorts()) {
            ConnectFailure.of("memcached://" + wrong.refused()).mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of("memcached://no.such.host.invalid").mayPass("no.such.host.invalid", "unknown host");
            ConnectFailure.of("memcached://" + wrong.silent()).mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of("memcached://" + wrong.otherProtocol()).lasts(wrong.otherProtocol(), "is not memcached");
        }
    }

    @Test
    void tls_whereThereIsNone_andViceVersa_andAWrongPassword(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        try (MemcachedServer plain = MemcachedServer.start();
                MemcachedServer tls = MemcachedServer.startTls(own.certificate(), own.key());
                MemcachedServer locked = MemcachedServer.startWithPassword("locks", "right")) {
            String inClear = plain.host() + ":" + plain.port();
            String encrypted = tls.host() + ":" + tls.port();
            String asking = locked.host() + ":" + locked.port();
            ConnectFailure.of("memcacheds://" + inClear).lasts(inClear, "does not speak TLS");
            ConnectFailure.of("memcached://" + encrypted).lasts(encrypted, "speaks TLS; write memcacheds://");
            ConnectFailure.of("memcacheds://" + encrypted).lasts(encrypted, "certif");
            ConnectFailure.of("memcached://locks:wrong@" + asking).lasts(asking, "refuses the login");
            ConnectFailure.of("memcached://" + asking).lasts(asking, "refuses the login");
        }
    }
}
