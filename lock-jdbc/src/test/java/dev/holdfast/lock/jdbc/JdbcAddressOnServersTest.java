package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Addresses with real drivers: they work, and no message contains the password. */
final class JdbcAddressOnServersTest {

    /** MariaDB's driver, which leaves {@code jdbc:mysql:} to MySQL's unless the URL says otherwise. */
    @ParameterizedTest
    @CsvSource({
        "'', MariaDB's driver takes jdbc:mariadb:",
        "&permitMysqlScheme=false, MariaDB's driver takes jdbc:mariadb:",
        "&permitMysqlScheme, locked",
        "&permitMysqlScheme=true, locked"
    })
    void mysqlScheme_withMariaDbsDriverAlone_worksIfPermitted(String parameter, String message) throws Exception {
        Db db = SharedDb.MARIADB.db();
        String address = db.url().replace("jdbc:mariadb:", "jdbc:mysql:") + "?user=" + db.user() + "&password="
                + db.password() + "&holdfast.createTable=true" + parameter;
        String classPath = Stream.of(HoldingProcess.classPath().split(File.pathSeparator))
                .filter(part -> !part.contains("mysql-connector"))
                .collect(Collectors.joining(File.pathSeparator));
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        classPath,
                        ConnectingProcess.class.getName(),
                        address)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains(message)
                .doesNotContain(db.password());
    }

    /** All loggers at their most talkative, on a JVM of its own. */
    @Test
    void randomPasswords_nothingIsTold() throws IOException, InterruptedException {
        long seed = System.nanoTime();
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx200m",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=trace",
                        "-cp",
                        HoldingProcess.classPath(),
                        TalkativeProcess.class.getName(),
                        Long.toString(seed)))
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(output).contains("jdbcUrl", "Connecting with URL", "attempts: ");
        for (String piece : TalkativeProcess.PIECES) {
            assertThat(output.lines().filter(line -> line.contains(piece)))
                    .as("with seed %d", seed)
                    .isEmpty();
        }
    }

    @Test
    void passwordLikeTheDatabase_failureIsReadable() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String address =
                db.url().replaceFirst("/[a-z]+$", "/holdfast_shop?user=" + db.user() + "&password=holdfast_shop");

        Throwable failure = catchThrowable(() -> LockClient.connect(address).close());

        // The server trusts this machine or checks the password first: whichever, the message has the name it is about.
        assertThat(failure).isInstanceOf(LockConfigurationException.class).hasMessageNotContaining("***");
        assertThat(failure).hasMessageContaining("/holdfast_shop");
        assertThat(failure.getCause()).isInstanceOf(SQLException.class);
    }
}
