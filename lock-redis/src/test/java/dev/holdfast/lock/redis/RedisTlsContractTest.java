package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.LockFixture;

final class RedisTlsContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return RedisTlsFixture.start();
    }
}
