package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.Tag;

@Tag(LockContract.VARIANT)
@Tag(LockContract.SAME_PROTOCOL)
@Tag(LockContract.SAME_CLIENT)
final class EtcdSingleContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws Exception {
        return EtcdFixture.single();
    }
}
