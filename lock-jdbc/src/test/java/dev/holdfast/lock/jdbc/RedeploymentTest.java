package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What an application leaves behind in the JVM when it is taken down. */
@House("process:redeployment")
final class RedeploymentTest {
    @ParameterizedTest
    @EnumSource
    void applicationIsTakenDown_itsLoaderIsCollected(SharedDb shared) throws Exception {
        String uri = shared == SharedDb.H2 ? "jdbc:h2:mem:redeployed" : uri(shared.db());
        RedeployedApplication.assertLeavesNothing(uri, "mysql-cj-");
    }

    private static String uri(Db db) {
        return db.url() + "?user=" + db.user() + "&password=" + db.password() + "&holdfast.createTable=true";
    }
}
