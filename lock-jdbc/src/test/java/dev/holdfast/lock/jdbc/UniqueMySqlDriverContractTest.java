package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.LockFixture;

final class UniqueMySqlDriverContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.mariadb("mysql"), JdbcStrategy.UNIQUE_INDEX);
    }
}
