package dev.holdfast.lock.memory;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;

final class MemoryContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() {
        return new MemoryFixture();
    }
}
