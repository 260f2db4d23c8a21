package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.Tag;

/** With one connection in the pool, for which attempts, renewals and releases of a client queue. */
@Tag(LockContract.VARIANT)
@Tag(LockContract.SAME_PROTOCOL)
final class VersionPostgresSmallPoolContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.postgres(), JdbcStrategy.VERSION, 1);
    }
}
