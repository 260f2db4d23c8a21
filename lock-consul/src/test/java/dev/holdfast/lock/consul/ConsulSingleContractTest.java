package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.io.IOException;
import org.junit.jupiter.api.DisplayName;

@DisplayName("A lock on one Consul server")
final class ConsulSingleContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws IOException, InterruptedException {
        return ConsulFixture.single();
    }
}
