package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.Tag;

@Tag(LockContract.VARIANT)
final class RedisPollingContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return RedisFixture.polling();
    }
}
