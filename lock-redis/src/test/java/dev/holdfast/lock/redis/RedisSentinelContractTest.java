package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

@Tag(LockContract.VARIANT)
@Tag(LockContract.SAME_PROTOCOL)
@Tag(LockContract.SAME_CLIENT)
final class RedisSentinelContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new RedisSentinelFixture(true, Duration.ofSeconds(4));
    }
}
