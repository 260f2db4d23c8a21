package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;

final class RedisNotifiedContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return RedisFixture.notified();
    }
}
