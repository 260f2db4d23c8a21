package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.Tag;

@Tag(LockContract.VARIANT)
@Tag(LockContract.SAME_PROTOCOL)
@Tag(LockContract.SAME_CLIENT)
final class VersionH2FileContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.h2File(), JdbcStrategy.VERSION);
    }
}
