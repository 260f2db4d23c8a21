package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import org.junit.jupiter.api.Tag;

@Tag("containers")
final class Redis8ContainerContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return RedisFixture.notified(ServerImage.of("redis-8"));
    }
}
