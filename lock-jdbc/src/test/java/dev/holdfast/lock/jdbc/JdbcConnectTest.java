package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.server.network.WrongPorts;
import dev.holdfast.lock.testkit.support.ConnectFailure;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said of addresses that do not lead to a database. */
final class JdbcConnectTest {

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2:tcp"})
    void noDatabase_saysWhatIsWrong(String kind) throws Exception {
        String head = "jdbc:" + kind + "://";
        try (WrongPorts wrong = new WrongPorts()) {
            ConnectFailure.of(head + wrong.refused() + "/x").mayPass(wrong.refused(), "connection refused");
            ConnectFailure.of(head + "no.such.host.invalid/x").mayPass("no.such.host.invalid", "unknown host");
            ConnectFailure.of(head + wrong.silent() + "/x").mayPass(wrong.silent(), "does not answer");
            ConnectFailure.of(head + wrong.otherProtocol() + "/x").lasts(wrong.otherProtocol(), "there is not ");
        }
    }

    @ParameterizedTest
    @CsvSource({"POSTGRESQL, sslmode=require", "MARIADB, sslMode=trust", "MARIADB_BY_MYSQL_DRIVER, sslMode=REQUIRED"})
    void tls_whereThereIsNone_saysSo(SharedDb shared, String parameter) throws Exception {
        Db db = shared.db();
        ConnectFailure.of(db.url() + "?user=" + db.user() + "&password=" + db.password() + "&" + parameter)
                .lasts("127.0.0.1:", "does not speak TLS");
    }

    @Test
    void filesOfAnotherProcess_saysSo(@TempDir Path folder) throws Exception {
        String address = "jdbc:h2:" + folder.resolve("locks");
        LockClient.connect(address).close();
        try (FileChannel file = FileChannel.open(folder.resolve("locks.mv.db"), StandardOpenOption.WRITE)) {
            file.lock();
            ConnectFailure.of(address).lasts(address, "AUTO_SERVER=TRUE");
        }
    }
}
