package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import org.junit.jupiter.api.Tag;

@Tag("containers")
final class MariaDb1011ContainerContractTest extends LockContract {
    @Override
    protected LockFixture startFixture() throws Exception {
        return new JdbcFixture(Db.mariadb(ServerImage.of("mariadb-10.11"), "mariadb"), JdbcStrategy.VERSION);
    }
}
