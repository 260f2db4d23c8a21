package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcLockProvider;
import dev.holdfast.lock.testkit.support.TestSize;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A slip in the name of a parameter does not connect in clear text. */
final class DriverParametersTest {
    private static final LockClientOptions HASTY =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://127.0.0.1:1/db?sslmod=verify-full",
                "jdbc:postgresql://127.0.0.1:1/db?sslMode=verify-full",
                "jdbc:postgresql://127.0.0.1:1/db?user=u&password=p&sslmode=require&nosuch=1",
                "jdbc:mariadb://127.0.0.1:1/db?sslMod=verify-full",
                "jdbc:mariadb://127.0.0.1:1/db?requireSSL=true",
                "jdbc:mariadb://127.0.0.1:1/db?usessl=true",
                "jdbc:mysql://127.0.0.1:1/db?sslMod=VERIFY_IDENTITY",
                "jdbc:mysql://127.0.0.1:1/db?sslmode=VERIFY_IDENTITY",
                "jdbc:mysql://127.0.0.1:1/db?holdfast.table=t&tlsVersion=TLSv1.3",
            })
    void unknownParameter_isRefused(String uri) {
        assertThatThrownBy(() -> new JdbcLockProvider().connect(uri, HASTY))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("does not support")
                .hasMessageContaining("number " + (uri.contains("nosuch") ? 4 : 1));
    }

    /** The name may be the rest of a password. */
    @Test
    void message_hasDriversNamesOnly() {
        assertThatThrownBy(() -> new JdbcLockProvider()
                        .connect("jdbc:postgresql://127.0.0.1:1/db?user=u&password=CAN&sslCANARY=1", HASTY))
                .hasMessageContaining("sslmode")
                .hasMessageNotContaining("CANARY");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://h/db?user=u&password=p&ssl&sslmode=verify-full&sslrootcert=/ca.pem&tcpKeepAlive=true",
                "jdbc:mariadb://h/db?SSLMODE=verify-full&serverSslCert=/ca.pem&useSsl=true&nullCatalogMeansCurrent=true",
                "jdbc:mysql://h/db?sslMode=VERIFY_IDENTITY&useSSL=true&serverTimezone=UTC&permitMysqlScheme"
                        + "&trustCertificateKeyStoreUrl=file:/ca.p12",
                "jdbc:h2:mem:x;MODE=MySQL",
            })
    void knownParameters_areNot(String uri) {
        assertThatCode(() -> check(uri)).doesNotThrowAnyException();
    }

    /** The drivers themselves show whether they support a spelling. */
    @Test
    void anySpelling_isUnderstoodOrRefused() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int refused = 0;
        int spellings = TestSize.of(300, 3_000);
        for (int i = 0; i < spellings; i++) {
            String name = misspelt("sslmode", random);
            String parameter = "/db?" + name + "=verify-full";
            boolean byPostgres = isRefused("jdbc:postgresql://h" + parameter);
            assertThat(byPostgres || name.equals("sslmode"))
                    .as("PostgreSQL, %s, seed %d", name, seed)
                    .isTrue();
            boolean byMariaDb = isRefused("jdbc:mariadb://h" + parameter);
            boolean understood = org.mariadb.jdbc.Configuration.parse("jdbc:mariadb://h" + parameter)
                            .sslMode()
                    == org.mariadb.jdbc.export.SslMode.VERIFY_FULL;
            assertThat(byMariaDb || understood || isOther(name))
                    .as("MariaDB, %s, seed %d", name, seed)
                    .isTrue();
            boolean byMySql = isRefused("jdbc:mysql://h" + parameter);
            assertThat(byMySql).as("MySQL, %s, seed %d", name, seed).isEqualTo(!name.equals("sslMode"));
            refused += byPostgres && byMariaDb && byMySql ? 1 : 0;
        }
        assertThat(refused).isGreaterThan(spellings / 3);
    }

    private static boolean isOther(String name) {
        return !name.toLowerCase(java.util.Locale.ROOT).contains("ssl");
    }

    /** One to three slips: a letter lost, doubled, swapped, in the other case, or put in. */
    private static String misspelt(String name, Random random) {
        StringBuilder text = new StringBuilder(name);
        for (int slips = 1 + random.nextInt(3); slips > 0; slips--) {
            int at = random.nextInt(text.length() - 1);
            char letter = text.charAt(at);
            switch (random.nextInt(5)) {
                case 0 -> text.deleteCharAt(at);
                case 1 -> text.insert(at, letter);
                case 2 -> text.deleteCharAt(at).insert(at + 1, letter);
                case 3 -> text.setCharAt(at, Character.toUpperCase(letter));
                default -> text.insert(at + 1, "_-x".charAt(random.nextInt(3)));
            }
        }
        return text.toString();
    }

    private static boolean isRefused(String uri) throws Exception {
        try {
            check(uri);
            return false;
        } catch (IllegalArgumentException e) {
            return true;
        }
    }

    private static void check(String uri) throws Exception {
        JdbcAddress address = new JdbcUri(uri).address();
        DriverParameters.requireKnown(address, DriverManager.getDriver(address.url()), address.url());
    }

    @ParameterizedTest
    @ValueSource(strings = {"perhaps", "TRUE "})
    void permitMysqlScheme_isTrueOrFalse(String value) {
        assertThatThrownBy(() ->
                        new JdbcLockProvider().connect("jdbc:mysql://127.0.0.1:1/db?permitMysqlScheme=" + value, HASTY))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("permitMysqlScheme");
    }

    /** A driver that wraps another may not name what it passes on. */
    @Test
    void unknownDriver_parametersOfTlsAreChecked() throws Exception {
        java.sql.Driver silent = (java.sql.Driver) java.lang.reflect.Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {java.sql.Driver.class},
                (proxy, method, arguments) -> null);
        JdbcAddress wrong = new JdbcUri("jdbc:wrapper:postgresql://h/db?plugins=a&sslmod=verify-full").address();
        JdbcAddress right = new JdbcUri("jdbc:wrapper:postgresql://h/db?plugins=a&sslmode=verify-full").address();

        assertThatThrownBy(() -> DriverParameters.requireKnown(wrong, silent, wrong.url()))
                .hasMessageContaining("number 2")
                .hasMessageContaining("sslmode");
        DriverParameters.requireKnown(right, silent, right.url());
    }

    /** Names that the drivers accept but do not list. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "mysql | cacheDefaultTimezone enabledSSLCipherSuites enabledTLSProtocols haEnableJMX haLoadBalanceStrategy"
                        + " namedPipePath nullCatalogMeansCurrent parseInfoCacheFactory serverTimezone",
                "mariadb | clientCertificateKeyStorePassword clientCertificateKeyStoreType clientCertificateKeyStoreUrl"
                        + " databaseTerm nullCatalogMeansCurrent trustCertificateKeyStorePassword"
                        + " trustCertificateKeyStoreType trustCertificateKeyStoreUrl useSsl useSSL trustServerCertificate"
                        + " disableSslHostnameVerification",
                "postgresql | user password"
            })
    void alias_ofADriver_isKnown(String kind, String names) throws Exception {
        for (String name : names.split(" ")) {
            check("jdbc:" + kind + "://h/db?" + name + "=true");
        }
        assertThatThrownBy(() -> check("jdbc:" + kind + "://h/db?" + names.split(" ")[0] + "x=true"))
                .hasMessageContaining("does not support and would ignore: number 1, not counting those of holdfast;")
                .hasMessageEndingWith("; check its spelling and its case, or write a & of a password as %26");
    }

    /** A wrapper does not list the properties that it passes on; those without relation to TLS are not checked. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql | ssl sslcert sslkey sslmode sslpassword sslrootcert | sslcrt tlsmode require_ssl useSSL verifyCa",
                "mysql | sslMode tlsVersions trustCertificateKeyStorePassword trustCertificateKeyStoreType"
                        + " trustCertificateKeyStoreUrl | tlsVersion enableTls trustStore key_store serverSslCert",
                "mariadb | sslMode serverSslCert trustStore trustStorePassword trustStoreType | serverCert clientCert keystore"
                        + " disable_ssl enabledTLS"
            })
    void wrappedDriver_knowsTheTlsOfItsKind(String kind, String known, String unknown) {
        for (java.sql.Driver each : new java.sql.Driver[] {
            telling(null), telling(new SQLException("no")), telling(new IllegalStateException("no"))
        }) {
            JdbcAddress right = new JdbcAddress("jdbc:wrapper:" + kind + "://h/db?anything=1&user=u&password=p&"
                    + known.replace(" ", "=1&") + "=1");
            DriverParameters.requireKnown(right, each, right.url());
            for (String name : unknown.split(" ")) {
                JdbcAddress wrong = new JdbcAddress("jdbc:wrapper:" + kind + "://h/db?" + name + "=1");
                assertThatThrownBy(() -> DriverParameters.requireKnown(wrong, each, wrong.url()))
                        .as(name)
                        .isInstanceOf(IllegalArgumentException.class);
            }
        }
    }

    private static java.sql.Driver telling(Exception failure) {
        return (java.sql.Driver) java.lang.reflect.Proxy.newProxyInstance(
                DriverParametersTest.class.getClassLoader(),
                new Class<?>[] {java.sql.Driver.class},
                (proxy, method, arguments) -> {
                    if (failure != null && method.getName().equals("getPropertyInfo")) {
                        throw failure;
                    }
                    return null;
                });
    }

    /** A driver that fails at its second name counts as one that lists none. */
    @Test
    void driver_thatStopsInTheMiddle_isOneThatDoesNotTell() {
        java.sql.DriverPropertyInfo[] infos = {new java.sql.DriverPropertyInfo("first", ""), null};
        java.sql.Driver breaking = (java.sql.Driver) java.lang.reflect.Proxy.newProxyInstance(
                DriverParametersTest.class.getClassLoader(),
                new Class<?>[] {java.sql.Driver.class},
                (proxy, method, arguments) -> method.getName().equals("getPropertyInfo") ? infos : null);
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/db?second=1");

        DriverParameters.requireKnown(address, breaking, address.url());
    }

    @Test
    void refusal_namesTheParametersThatBeginAlike_andNoOthers() {
        assertThatThrownBy(() -> check("jdbc:postgresql://h/db?loginTimeoutt=1"))
                .hasMessageMatching(
                        ".*; parameters of the driver with the same beginning: \\[log\\w+(, log\\w+)*]; check .*")
                .hasMessageContaining("loginTimeout");
    }
}
