package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.io.IOException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;

@DisplayName("A lock on three Consul servers")
@Tag(LockContract.VARIANT)
final class ConsulClusterContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws IOException, InterruptedException {
        return ConsulFixture.cluster();
    }
}
