package dev.holdfast.lock.memcached;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.DisplayName;

@DisplayName("A lock on memcached")
final class MemcachedContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return MemcachedFixture.start();
    }
}
