package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;

final class RedlockContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new RedlockFixture();
    }
}
