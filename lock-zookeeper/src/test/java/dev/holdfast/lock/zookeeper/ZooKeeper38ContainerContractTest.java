package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import org.junit.jupiter.api.Tag;

@Tag("containers")
final class ZooKeeper38ContainerContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return ZooKeeperFixture.ensemble(ServerImage.of("zookeeper-3.8"));
    }
}
