package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;

final class EtcdClusterContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws Exception {
        return EtcdFixture.cluster();
    }
}
