package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;

/**
 * The contract on the etcd of the next Debian release. The build leaves it out where {@code bin/install-etcd-next} could
 * not fetch one.
 */
@Tag(LockContract.VARIANT)
@Tag(LockContract.SAME_PROTOCOL)
final class EtcdNextClusterContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws Exception {
        Path binary = Path.of(System.getProperty("user.home"), ".cache/holdfast/etcd-next/usr/bin/etcd");
        return EtcdFixture.nextCluster(binary);
    }
}
