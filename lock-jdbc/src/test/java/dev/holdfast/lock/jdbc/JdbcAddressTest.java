package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A JDBC address gives away no part of its password, whatever is in it. */
final class JdbcAddressTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "jdbc:postgresql://h:1/db?user=a%41+b&password=p%26q+r&ssl | jdbc:postgresql://h:1/db | aA b | p&q r",
                "jdbc:postgresql://h1:1,[::1]:2/db?user=u&password=p;q | jdbc:postgresql://h1:1,[::1]:2/db | u | p;q",
                "jdbc:postgresql://u:p@h/db | jdbc:postgresql://h/db | u | p",
                "jdbc:postgresql://u:1&p=q@h/db?holdfast.table=t&x=1 | jdbc:postgresql://h/db | u | 1&p=q",
                "jdbc:postgresql:db?user=u&password=p?q | jdbc:postgresql:db | u | p?q",
                "jdbc:mysql://u:p%40q@h:1,h:2/db | jdbc:mysql://h:1,h:2/db | u | p@q",
                "jdbc:mysql:loadbalance://h:1/db?user=u&password=p%2Fq | jdbc:mysql:loadbalance://h:1/db | u | p/q",
                "jdbc:mysql://(host=h,port=1,user=u,password=p%2Cq)/db | jdbc:mysql://address=(host=h)(port=1)/db | u | p,q",
                "jdbc:mysql://address=(host=h)(port=1)(user=u)(password=p)/db"
                        + " | jdbc:mysql://address=(host=h)(port=1)/db | u | p",
                "jdbc:mariadb://h:1/db?user=a%41&password=p+q | jdbc:mariadb://h:1/db | a%41 | p+q",
                "jdbc:h2:tcp://h:1/x;USER=u;PASSWORD=p\\;q;MODE=MySQL | jdbc:h2:tcp://h:1/x;MODE=MySQL | u | p;q",
                "jdbc:h2:mem:x;user=u;password=p;mode=MySQL | jdbc:h2:mem:x;mode=MySQL | u | p",
            })
    void wellFormed_credentialsAreProperties(String uri, String url, String user, String password) {
        JdbcAddress address = new JdbcUri(uri).address();

        assertThat(address.url()).isEqualTo(url);
        assertThat(address.properties()).containsEntry("user", user).containsEntry("password", password);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mysql://u:CAN/ARY@h/db",
                "jdbc:mysql://u:CAN?ARY@h/db",
                "jdbc:mysql://u:CAN@ARY@h/db",
                "jdbc:postgresql://shop:2024?CANARY=1@db:5432/shop",
                "jdbc:mysql://u:CAN%ARY@h/db",
                "jdbc:mysql://u:1,ARY@h/db?password=x",
                "jdbc:mysql://u:CANARY@h1,u:CANARY@h2/db",
                "jdbc:mysql://address=(host=h)(password=CAN)ARY)/db",
                "jdbc:mysql://(host=h,password=CAN,ARY)/db",
                "jdbc:mysql://(host=h,password=CAN/ARY)/db",
                "jdbc:mariadb://h/db?user=u&password=CAN&ARY",
                "jdbc:postgresql://h/db?user=u&password=CAN%zzARY",
                "jdbc:postgresql://h/db/CAN@ARY",
                "jdbc:postgresql:CAN@ARY",
                "jdbc:h2:mem:x;PASSWORD=CAN;ARY",
                "jdbc:h2:mem:x;PASSWORD=CAN;ARY=1",
                "jdbc:oracle:thin:u/CANARY@h",
                "jdbc:CANARY",
                "CANARY",
                "jdbc:"
            })
    void malformed_refusedWithoutAnyPart(String uri) {
        assertThatThrownBy(() -> new JdbcUri(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("malformed")
                .hasMessageNotContainingAny("CAN", "ARY")
                .hasNoCause();
    }

    @Test
    void properties_areACopy() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/db?user=u");
        Properties properties = address.properties();
        properties.clear();
        assertThat(address.properties()).containsEntry("user", "u");
    }
}
