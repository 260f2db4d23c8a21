package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import org.junit.jupiter.api.Tag;

@Tag("containers")
final class Etcd34ContainerContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return EtcdFixture.cluster(ServerImage.of("etcd-3.4"));
    }
}
