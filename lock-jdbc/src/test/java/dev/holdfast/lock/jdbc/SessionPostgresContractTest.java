package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.Tag;

@Tag(LockContract.VARIANT)
final class SessionPostgresContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.postgres("max_connections=300"), JdbcStrategy.SESSION);
    }
}
