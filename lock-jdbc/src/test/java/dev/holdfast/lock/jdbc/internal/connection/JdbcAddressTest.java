package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
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
                "jdbc:h2:file:/a@b/R&D;USER=u;TIME ZONE=UTC;PASSWORD=a&user=p"
                        + " | jdbc:h2:file:/a@b/R&D;TIME ZONE=UTC | u | a&user=p",
                "jdbc:h2:mem:x;user=u;password=p;mode=MySQL | jdbc:h2:mem:x;mode=MySQL | u | p",
                "jdbc:h2:mem:x;USER=u;CACHE_SIZE=1;PASSWORD=p | jdbc:h2:mem:x;CACHE_SIZE=1 | u | p",
                "jdbc:h2:mem:x;INIT=SET A\\;SET B;USER=u;PASSWORD=p\\\\q | jdbc:h2:mem:x;INIT=SET A\\;SET B | u | p\\q",
                "jdbc:postgresql://us%3Aer:p%20q@h/db | jdbc:postgresql://h/db | us:er | p q",
                "jdbc:postgresql:///db?user=u@corp&password=p@q | jdbc:postgresql:///db | u@corp | p@q",
                "jdbc:postgresql://h_1.x-y:65535,[fe80::1%1]?user=u&password=p"
                        + " | jdbc:postgresql://h_1.x-y:65535,[fe80::1%1] | u | p",
                "jdbc:mysql:replication://address=(HOST=h)(port=1)(user=u),address=(host=i)(Password=p)(type=replica)/db"
                        + " | jdbc:mysql:replication://address=(host=h)(port=1),address=(host=i)(type=replica)/db | u | p",
                "jdbc:mysql://(host=h, user=u, password=p%2Cq, protocol=TCP)/db"
                        + " | jdbc:mysql://address=(host=h)(protocol=TCP)/db | u | p,q",
                "jdbc:mariadb://u:p%41@h/db?user=u&&sessionVariables=a=b | jdbc:mariadb://h/db | u | pA",
                "jdbc:postgresql://:p@h/db | jdbc:postgresql://h/db | '' | p",
                "jdbc:postgresql://@h/db?password=p | jdbc:postgresql://h/db | '' | p",
                "jdbc:postgresql://h/db?user=u&password= | jdbc:postgresql://h/db | u | ''",
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
    void user_aloneOrNobody_hasNoPassword() {
        assertThat(new JdbcAddress("jdbc:postgresql://u@h/db").properties()).containsExactly(Map.entry("user", "u"));
        assertThat(new JdbcAddress("jdbc:postgresql://h/db").properties()).isEmpty();
        assertThat(new JdbcAddress("jdbc:postgresql:db").url()).isEqualTo("jdbc:postgresql:db");
        assertThat(new JdbcAddress("jdbc:mysql://h/db?ssl&permitMysqlScheme&a=b=c").properties())
                .containsOnly(Map.entry("ssl", ""), Map.entry("permitMysqlScheme", ""), Map.entry("a", "b=c"));
    }

    /** Everything else behind it may be the rest of a password with a bare semicolon. */
    @Test
    void h2_commonSettings_mayStandBehindThePassword() {
        for (String setting : ("AUTO_RECONNECT AUTO_SERVER AUTO_SERVER_PORT CASE_INSENSITIVE_IDENTIFIERS CIPHER"
                        + " DATABASE_TO_LOWER DATABASE_TO_UPPER DB_CLOSE_DELAY DB_CLOSE_ON_EXIT IFEXISTS INIT LOCK_TIMEOUT MODE"
                        + " NETWORK_TIMEOUT NON_KEYWORDS SCHEMA TRACE_LEVEL_FILE TRACE_LEVEL_SYSTEM_OUT WRITE_DELAY")
                .split(" ")) {
            assertThat(new JdbcAddress("jdbc:h2:mem:x;PASSWORD=p;" + setting + "=1").url())
                    .isEqualTo("jdbc:h2:mem:x;" + setting + "=1");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "jdbc:oracle:h2:x | it must begin with jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb: or jdbc:h2:",
                "xjdbc:postgresql://h/db | it must begin with",
                "jdbc:two words:postgresql://h/db | it must begin with",
                "jdbc:h2:mem:x;;MODE=MySQL | setting number 1 is not name=value; write a ; of a password as \\;",
                "jdbc:h2:mem:x;MODE=MySQL;CANARY | setting number 2 is not name=value",
                "jdbc:h2:mem:x;1A=2 | setting number 1 is not name=value",
                "jdbc:h2:mem:x;PASSWORD=CAN;ARY=1 | the setting after the password is not a common one",
                "jdbc:h2:mem:x;USER=a;user=b | given twice",
                "jdbc:h2:tcp://h/db?user=u&password=CANARY | H2's user and password are written ;USER=",
                "jdbc:h2:tcp://u:CANARY@h/db | H2's user and password are written ;USER=",
                "jdbc:h2:./db?user=u&password=CANARY | H2's user and password are written ;USER=",
                "jdbc:h2:mem:x;USER=u&password=CANARY | H2's user and password are written ;USER=",
                "jdbc:h2:mem:x;MODE=MySQL&password=CANARY | H2's user and password are written ;USER=",
                "jdbc:postgresql:db;user=u;password=CANARY | there is more than a database's name",
                "jdbc:mysql:db&password=CANARY | there is more than a database's name",
                "jdbc:mysql://h/db?sslMode=a&SSLMODE=CANARY | given twice",
                "jdbc:postgresql:CAN@ARY | there is an @ but no //",
                "jdbc:mysql://u:12/ARY@h/db | after the hosts there is more than a database's name",
                "jdbc:mysql://h/db/more | after the hosts there is more than a database's name",
                "jdbc:mysql://u:CAN@ARY@h/db | the hosts are not host:port",
                "jdbc:mysql://h:123456/db | the hosts are not host:port",
                "jdbc:mysql://h1,/db | the hosts are not host:port",
                "jdbc:mysql://h1,,h2/db | the hosts are not host:port",
                "jdbc:mysql://[::1/db | the hosts are not host:port",
                "jdbc:mysql://u:CAN%ARY@h/db | the password has a % without two hexadecimal digits; write the sign itself as %25",
                "jdbc:mysql://CAN%ARY:p@h/db | the user has a %",
                "jdbc:mysql://h/db?a=1&b=CAN%ARY | the parameter number 2 has a %",
                "jdbc:mysql://(host=h,password=CAN%ARY)/db | the password has a %",
                "jdbc:mysql://(host=h,CAN=ARY)/db | a detail of a host is none of host, port, protocol, path, priority, type",
                "jdbc:mysql://(host=h,CANARY)/db | a detail of a host is not name=value with % codes",
                "jdbc:mysql://address=(host=h)CAN(port=1)/db | the hosts are not address=(host=…)(port=…),…",
                "jdbc:mysql://address=(host=h)address=(host=i)/db | the hosts are not address=(host=…)(port=…),…",
                "jdbc:mysql://address=(host=h),CANARY/db | the hosts are not address=(host=…)(port=…),…",
                "jdbc:mysql://(host=h,password=CAN#ARY)/db | a detail of a host is not name=value with % codes",
                "jdbc:mysql://h/db?a=1&&CANARY | parameter number 3 is not name=value",
                "jdbc:mysql://h/db?1a=2 | parameter number 1 is not name=value",
                "jdbc:mysql://h/db?a=1&sslMode=CAN@ARY | parameter number 2 has an @, as if an unescaped ? of a user or password",
                "jdbc:mysql://h/db?a=1&sslMode=@ARY | parameter number 2 has an @",
                "jdbc:mysql://(host=h,CANARY,port=1)/db | a detail of a host is not name=value with % codes",
                "jdbc:mysql://a:b@h/db?user=c | user, password or a parameter is given twice",
            })
    void malformed_saysWhichPartIsWrong(String uri, String why) {
        assertThatThrownBy(() -> new JdbcAddress(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("the JDBC address is malformed: ")
                .hasMessageContaining(why)
                .hasMessageEndingWith(" (it may hold a password, so it is not shown)")
                .hasMessageNotContainingAny("CAN", "ARY");
    }

    @Test
    void properties_areACopy() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/db?user=u");
        Properties properties = address.properties();
        properties.clear();
        assertThat(address.properties()).containsEntry("user", "u");
    }
}
