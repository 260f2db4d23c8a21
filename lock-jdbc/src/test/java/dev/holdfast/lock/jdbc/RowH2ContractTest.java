package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.LockFixture;

final class RowH2ContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.h2Memory(), JdbcStrategy.ROW_LOCK);
    }
}
