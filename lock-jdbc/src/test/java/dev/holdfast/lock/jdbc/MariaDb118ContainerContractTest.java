package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import org.junit.jupiter.api.Tag;

@Tag("containers")
final class MariaDb118ContainerContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.mariadb(ServerImage.of("mariadb-11.8"), "mariadb"), JdbcStrategy.VERSION);
    }
}
