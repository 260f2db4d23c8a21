package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.LockFixture;

final class ZooKeeperSingleContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws Exception {
        return ZooKeeperFixture.single();
    }
}
