package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** What an address opens: one connection beforehand, which one caller gets. */
final class AddressSourceTest {

    @Test
    void getConnection_theOneThatWasOpenedFirst_isGivenOutOnce() throws Exception {
        AddressSource source = new AddressSource(new org.h2.Driver(), "jdbc:h2:mem:first", new Properties());
        source.openFirst();
        try (Connection first = source.getConnection();
                Connection second = source.getConnection();
                Connection third = source.getConnection();
                Statement statement = first.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM information_schema.sessions")) {
            assertThat(List.of(first, second, third)).doesNotHaveDuplicates();
            rows.next();
            assertThat(rows.getInt(1)).as("connections").isEqualTo(3);
        }
    }
}
