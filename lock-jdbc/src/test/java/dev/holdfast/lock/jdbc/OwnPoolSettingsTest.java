package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.AddressSource;
import dev.holdfast.lock.jdbc.internal.connection.BrokenConnections;
import dev.holdfast.lock.jdbc.internal.connection.JdbcAddress;
import dev.holdfast.lock.jdbc.internal.connection.JdbcUri;
import dev.holdfast.lock.jdbc.internal.connection.ScriptedDatabase;
import dev.holdfast.lock.testkit.house.House;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Logger;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an address makes of a driver and of a pool. No server. */
@House("servers:settings")
final class OwnPoolSettingsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres();
    private final WrappingDriver driver = new WrappingDriver();

    private static ConditionFactory soon() {
        return await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    /** A driver that wraps others, as some clouds have one, and logs all it gets. */
    private final class WrappingDriver implements Driver {
        final List<String> urls = new CopyOnWriteArrayList<>();
        final List<Properties> properties = new CopyOnWriteArrayList<>();
        boolean refuses;

        @Override
        public Connection connect(String url, Properties given) throws SQLException {
            urls.add(url);
            properties.add((Properties) given.clone());
            given.clear(); // a driver may do what it likes with its own
            return refuses ? null : scripted.dataSource().getConnection();
        }

        @Override
        public boolean acceptsURL(String url) {
            return url.startsWith("jdbc:wrapping:");
        }

        @Override
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties given) {
            return null;
        }

        @Override
        public int getMajorVersion() {
            return 1;
        }

        @Override
        public int getMinorVersion() {
            return 0;
        }

        @Override
        public boolean jdbcCompliant() {
            return false;
        }

        @Override
        public Logger getParentLogger() throws SQLFeatureNotSupportedException {
            throw new SQLFeatureNotSupportedException();
        }
    }

    @BeforeEach
    void register() throws SQLException {
        DriverManager.registerDriver(driver);
    }

    @AfterEach
    void deregister() throws SQLException {
        DriverManager.deregisterDriver(driver);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql | 2500 | user=u | loginTimeout=3,connectTimeout=3,socketTimeout=3,tcpKeepAlive=true,user=u",
                "postgresql | 1000 | ssl | loginTimeout=1,connectTimeout=1,socketTimeout=1,tcpKeepAlive=true,ssl=",
                "postgresql | 1001 | user=u | loginTimeout=2,connectTimeout=2,socketTimeout=2,tcpKeepAlive=true,user=u",
                "postgresql | 0 | SocketTimeout=9&tcpkeepalive=false"
                        + " | loginTimeout=1,connectTimeout=1,SocketTimeout=9,tcpkeepalive=false",
                "mysql | 2500 | user=u | connectTimeout=2500,socketTimeout=2500,user=u",
                "mariadb | 2500 | user=u | connectTimeout=2500,socketTimeout=2500,useServerPrepStmts=true,user=u",
                "mariadb | 2500 | useserverprepstmts=false&ConnectTimeout=7"
                        + " | ConnectTimeout=7,socketTimeout=2500,useserverprepstmts=false"
            })
    void driver_hasTheTimeOuts_unlessTheAddressHas(String kind, long millis, String parameters, String properties)
            throws SQLException {
        JdbcAddress address = new JdbcAddress("jdbc:wrapping:" + kind + "://h:1/db?" + parameters);
        AddressSource source = OwnPool.source(address, millis);
        for (int i = 0; i < 2; i++) {
            source.getConnection().close();
            Map<Object, Object> expected = new HashMap<>();
            for (String each : properties.split(",")) {
                expected.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
            }
            assertThat(driver.properties.get(i)).containsExactlyInAnyOrderEntriesOf(expected);
            assertThat(driver.urls.get(i)).isEqualTo("jdbc:wrapping:" + kind + "://h:1/db");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "permitMysqlScheme, ?permitMysqlScheme=true",
        "permitMysqlScheme=true, ?permitMysqlScheme=true",
        "permitMysqlScheme=false, ''",
        "user=u, ''"
    })
    void permission_forMySqlsScheme_standsInTheUrl(String parameter, String behind) throws SQLException {
        OwnPool.source(new JdbcAddress("jdbc:wrapping:mysql://h/db?" + parameter), 1_000)
                .getConnection()
                .close();
        assertThat(driver.urls).containsExactly("jdbc:wrapping:mysql://h/db" + behind);
        assertThat(driver.properties.get(0)).doesNotContainKey("permitMysqlScheme");
    }

    @Test
    void source_isNothingButTheDriver() throws SQLException {
        AddressSource source = OwnPool.source(new JdbcAddress("jdbc:wrapping:mysql://h/db?password=canary"), 1_000);
        assertThat(source).hasToString("AddressSource");
        assertThat(source.isWrapperFor(Driver.class)).isFalse();
        assertThatThrownBy(() -> source.unwrap(Driver.class)).hasMessage("not a wrapper");
        assertThatThrownBy(() -> source.getConnection("u", "p")).isInstanceOf(SQLFeatureNotSupportedException.class);
        assertThatThrownBy(source::getLogWriter).isInstanceOf(SQLFeatureNotSupportedException.class);
        assertThatThrownBy(() -> source.setLogWriter(null)).isInstanceOf(SQLFeatureNotSupportedException.class);
        assertThatThrownBy(source::getParentLogger).isInstanceOf(SQLFeatureNotSupportedException.class);
        source.setLoginTimeout(7);
        assertThat(source.getLoginTimeout()).isZero();
        assertThat(driver.urls).isEmpty();

        driver.refuses = true;
        assertThatThrownBy(source::openFirst)
                .hasMessage("the driver does not accept the URL")
                .satisfies(failure ->
                        assertThat(((SQLException) failure).getSQLState()).isEqualTo("08001"));
    }

    @ParameterizedTest
    @CsvSource({
        "postgresql, ''",
        "mysql, '; MariaDB''s driver takes jdbc:mariadb:, or jdbc:mysql: with the parameter permitMysqlScheme'"
    })
    void noDriver_saysWhatToAdd(String kind, String more) {
        assertThatThrownBy(() -> OwnPool.source(new JdbcAddress("jdbc:nobodys:" + kind + "://h/db?password=canary"), 1))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("no JDBC driver on the class path accepts URLs of jdbc:" + kind
                        + ":, or the URL is malformed; add the database's driver and check the URL" + more);
    }

    /** One after the other, a wait for a connection and its validation fit into a request. */
    @ParameterizedTest
    @CsvSource({
        "30000, 29000, 1000",
        "3001, 2001, 1000",
        "2999, 1999, 999",
        "2000, 1000, 666",
        "1999, 1999, 666",
        "300, 300, 250",
        "100, 250, 250"
    })
    void pool_timeOutsFitIntoARequest(long requestMillis, long connectionMillis, long validationMillis) {
        HikariConfig config = config("jdbc:wrapping:postgresql://h/db", requestMillis);
        assertThat(config.getConnectionTimeout()).isEqualTo(connectionMillis);
        assertThat(config.getValidationTimeout()).isEqualTo(validationMillis);
    }

    @Test
    void pool_keepsOneConnection_asksItNothing_failsAtOnce() {
        HikariConfig config = config("jdbc:wrapping:postgresql://h/db?password=canary&holdfast.poolSize=5", 3_000);
        assertThat(config.getPoolName()).isEqualTo("holdfast");
        assertThat(config.getMaximumPoolSize()).isEqualTo(5);
        assertThat(config.getMinimumIdle()).isEqualTo(1);
        assertThat(config.getKeepaliveTime()).isZero();
        assertThat(config.getInitializationFailTimeout()).isEqualTo(1);
        assertThat(config.getExceptionOverride()).isInstanceOf(BrokenConnections.class);
        assertThat(config.getDataSource()).isInstanceOf(AddressSource.class);
        assertThat(config.getJdbcUrl()).isEqualTo("jdbc:wrapping:postgresql://h/db");
        assertThat(config.getTransactionIsolation()).isEqualTo("TRANSACTION_READ_COMMITTED");
        assertThat(config.getMaxLifetime()).as("the pool's own").isPositive();
        assertThat(config("jdbc:wrapping:postgresql://h/db", 3_000).getMaximumPoolSize())
                .isEqualTo(8);

        HikariConfig embedded = config("jdbc:h2:mem:x", 3_000);
        assertThat(embedded.getTransactionIsolation()).isNull();
        assertThat(embedded.getMaxLifetime()).isZero();
        HikariConfig served = config("jdbc:h2:tcp://h/x", 3_000);
        assertThat(served.getTransactionIsolation()).isEqualTo("TRANSACTION_READ_COMMITTED");
        assertThat(served.getMaxLifetime()).isPositive();
    }

    private static HikariConfig config(String uri, long requestMillis) {
        JdbcUri parsed = new JdbcUri(uri);
        return OwnPool.config(
                parsed, new AddressSource(new org.h2.Driver(), "jdbc:h2:mem:x", new Properties()), requestMillis);
    }

    /** What the pool wraps the database's refusal into says neither what it is nor what to do. */
    @Test
    void open_poolCannotUseTheConnection_refusalIsTheDatabases() {
        scripted.refuse("setTransactionIsolation", new SQLException("not for you", "28000"));
        assertThatThrownBy(() -> OwnPool.open(new JdbcUri("jdbc:wrapping:postgresql://127.0.0.1:1/db"), 30_000))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("refuses the connection (not for you)");
    }

    @Test
    void open_driverOpensNothing_saysWhere() {
        driver.refuses = true;
        assertThatThrownBy(() ->
                        OwnPool.open(new JdbcUri("jdbc:wrapping:postgresql://127.0.0.1:1/db?password=canary"), 30_000))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("connecting to jdbc:wrapping:postgresql://127.0.0.1:1/db: connection refused");
    }

    @Test
    void opensInTime_onAThreadThatEnds() throws Exception {
        Thread opening = OwnPool.inTime(30_000, () -> new Holder(Thread.currentThread())).thread;
        assertThat(opening.getName()).isEqualTo("holdfast-jdbc-connect-1");
        assertThat(opening.isDaemon()).isTrue();
        IllegalStateException unchecked = new IllegalStateException("unchecked");
        assertThatThrownBy(() -> OwnPool.inTime(30_000, () -> {
                    throw unchecked;
                }))
                .isSameAs(unchecked);
    }

    private record Holder(Thread thread) implements AutoCloseable {
        @Override
        public void close() {}
    }

    /** The time-out is the client's option, and all of it is one client's: its pool ends with it. */
    @Test
    void connect_optionsAreTheClients_closeEndsThePool() {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(40))
                .build();
        new JdbcLockProvider()
                .connect("jdbc:wrapping:postgresql://h/db?holdfast.table=t&holdfast.notifications=false", options)
                .close();
        assertThat(driver.properties.get(0)).containsEntry("socketTimeout", "40");
        assertThat(scripted.statements()).contains("UPDATE t SET token = token WHERE FALSE");
        soon().until(() -> scripted.count("close") == driver.urls.size());
        assertThat(new JdbcLockProvider().schemes()).containsExactly("jdbc");
    }

    @Test
    void connect_tableIsMissing_leavesNoConnection() {
        scripted.refuse("holdfast_lock", new SQLException("no such-table", "42P01"));
        assertThatThrownBy(() -> new JdbcLockProvider()
                        .connect("jdbc:wrapping:postgresql://h/db?password=such-table", LockClientOptions.defaults()))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("is missing on PostgreSQL")
                .hasMessageContaining("(no ***)")
                .hasMessageNotContaining("such-table");
        soon().until(() -> scripted.count("close") == driver.urls.size());
    }
}
