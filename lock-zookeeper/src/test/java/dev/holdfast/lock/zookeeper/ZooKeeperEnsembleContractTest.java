package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;

final class ZooKeeperEnsembleContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws Exception {
        return ZooKeeperFixture.ensembleWithAcl();
    }
}
