package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Our own parameters are taken out of an address, wherever they stand, and are checked. */
final class JdbcUriTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "jdbc:postgresql://h/db?holdfast.table=t&ssl=true|jdbc:postgresql://h/db",
                "jdbc:postgresql://h/db?ssl=true&holdfast.table=t|jdbc:postgresql://h/db",
                "JDBC:postgresql://h/db?HOLDFAST.TABLE=t|jdbc:postgresql://h/db",
                "jdbc:h2:mem:x;holdfast.table=t;MODE=MySQL|jdbc:h2:mem:x;MODE=MySQL",
                "jdbc:h2:mem:x;MODE=MySQL;holdfast.table=t|jdbc:h2:mem:x;MODE=MySQL",
                "jdbc:h2:mem:x;MODE=MySQL;|jdbc:h2:mem:x;MODE=MySQL"
            })
    void ours_areTakenOut(String given, String url) {
        JdbcUri uri = new JdbcUri(given);
        assertThat(uri.address().url()).isEqualTo(url);
        assertThat(uri.table()).isEqualTo(given.contains("able=t") || given.contains("ABLE=t") ? "t" : "holdfast_lock");
        assertThat(uri.address().properties().containsKey("ssl")).isEqualTo(given.contains("ssl=true"));
    }

    @Test
    void parameters_areCounted_ofTheDriverAlone() {
        assertThat(new JdbcUri("jdbc:mysql://h/db?a=1&holdfast.table=t&b=2")
                        .address()
                        .parameters())
                .containsEntry("a", 1)
                .containsEntry("b", 2)
                .hasSize(2);
        assertThat(new JdbcUri("jdbc:mysql://h/db?a=1&&b=2&").address().parameters())
                .containsEntry("b", 3);
        assertThat(new JdbcUri("jdbc:mysql://h/db?user=a&user=a").address().properties())
                .hasSize(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new JdbcUri("jdbc:mysql://h/db?user=a&user=b"))
                .withMessageContaining("given twice");
    }

    @ParameterizedTest
    @CsvSource({
        "jdbc:h2:mem:x, true",
        "JDBC:H2:file:/x, true",
        "jdbc:h2:tcp://h/x, false",
        "jdbc:h2:SSL://h/x, false",
        "jdbc:postgresql://h/x, false"
    })
    void embedded_makesItsTable(String given, boolean embedded) {
        assertThat(new JdbcUri(given).embedded()).isEqualTo(embedded);
        assertThat(new JdbcUri(given).createTable()).isEqualTo(embedded);
        char first = given.startsWith("jdbc:h2") || given.startsWith("JDBC:H2") ? ';' : '?';
        assertThat(new JdbcUri(given + first + "holdfast.createTable=" + !embedded).createTable())
                .isEqualTo(!embedded);
    }

    @ParameterizedTest
    @CsvSource({
        "version, VERSION",
        "VERSION, VERSION",
        "unique-index, UNIQUE_INDEX",
        "unique_index, UNIQUE_INDEX",
        "RowLock, ROW_LOCK",
        "row-lock, ROW_LOCK"
    })
    void strategy_isWrittenAsOneLikes(String written, JdbcStrategy strategy) {
        JdbcUri uri = new JdbcUri("jdbc:postgresql://h/x?holdfast.strategy=" + written);
        assertThat(uri.strategy()).isEqualTo(JdbcInternals.table(strategy));
        assertThat(uri.table())
                .isEqualTo(JdbcInternals.table(strategy).defaultTable().text());
    }

    @Test
    void pool_isLargeEnoughForNotifications_orThereAreNone() {
        assertThat(new JdbcUri("jdbc:postgresql://h/x").poolSize()).isEqualTo(8);
        assertThat(new JdbcUri("jdbc:postgresql://h/x").notifications()).isTrue();
        assertThat(new JdbcUri("jdbc:postgresql://h/x?holdfast.poolSize=2").notifications())
                .isFalse();
        assertThat(new JdbcUri("jdbc:postgresql://h/x?holdfast.poolSize=3").notifications())
                .isTrue();
        assertThat(new JdbcUri("jdbc:postgresql://h/x?holdfast.poolSize=999").poolSize())
                .isEqualTo(999);
        assertThat(new JdbcUri("jdbc:postgresql://h/x?holdfast.notifications=FALSE").notifications())
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "?holdfast.table=a&holdfast.table=b, appears twice",
        "?holdfast.tables=a, is unknown",
        "?holdfast.createTable=1, 'must be true or false, but is ''1'''",
        "?holdfast.notifications=, must be true or false",
        "?holdfast.strategy=best, 'must be version, unique-index, row-lock or session, but is ''best'''",
        "?holdfast.poolSize=0, from 1 to 999",
        "?holdfast.poolSize=1000, from 1 to 999",
        "?holdfast.poolSize=08, from 1 to 999",
        "?holdfast.poolSize=x, from 1 to 999",
        "?holdfast.notifications=1, holdfast.notifications in the JDBC URL must be",
        "?holdfast.TABLE=a&HOLDFAST.table=b, parameter holdfast.table appears twice",
        "?holdfast.pool=a, 'valid parameters are holdfast.table, holdfast.createTable, holdfast.strategy, holdfast.notifications and"
                + " holdfast.poolSize'"
    })
    void wrong_isRefused(String parameters, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> {
                    JdbcUri uri = new JdbcUri("jdbc:postgresql://h/x" + parameters);
                    uri.createTable();
                    uri.strategy();
                    uri.notifications();
                })
                .withMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource({
        "jdbc:postgresql:db, postgresql",
        "jdbc:mysql+srv://h/db, mysql",
        "jdbc:mysql:loadbalance://h/db, mysql",
        "jdbc:aws-wrapper:mariadb://h/db, mariadb",
        "jdbc:h2:mem:x, h2"
    })
    void kind_isInTheScheme(String given, String kind) {
        assertThat(new JdbcUri(given).address().driver().scheme()).isEqualTo(kind);
    }

    @ParameterizedTest
    @CsvSource({"t, t", "_T9, _T9", "s.t, t", "my_schema.my_table, my_table"})
    void table_mayHaveASchema(String text, String local) {
        TableName table = new TableName(text);
        assertThat(table.local()).isEqualTo(local);
        assertThat(table).hasToString(text);
    }

    @Test
    void table_thatNeedsQuotes_isRefused() {
        for (String wrong : new String[] {"", "9t", "a-b", "a b", "a.b.c", ".t", "t.", "a\"", "é", "x".repeat(64)}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new TableName(wrong))
                    .withMessageContaining("'" + wrong.replace("é", "?") + "'");
        }
        assertThat(new TableName("x".repeat(63) + "." + "y".repeat(63)).local()).hasSize(63);
    }
}
