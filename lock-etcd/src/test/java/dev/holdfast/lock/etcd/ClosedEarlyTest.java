package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.support.ClosedEarly;
import io.etcd.jetcd.Client;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An application that closes its jetcd client before the lock client. */
@House("middlebox:closed early")
final class ClosedEarlyTest {
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void client_closedBeforeTheLockClient(boolean recommended) throws Exception {
        try (EtcdFixture fixture = EtcdFixture.single()) {
            var plain = Client.builder().endpoints(fixture.uri().replace("etcd://", "http://"));
            Client etcd = (recommended ? EtcdLocks.recommended(plain) : plain).build();
            ClosedEarly.check(
                    options -> EtcdLocks.builder(etcd).options(options).build(),
                    etcd,
                    "its connection was closed before it, so 5 locks could not be released",
                    "close the lock client first");
        }
    }
}
