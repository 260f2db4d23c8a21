package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.mysql.cj.conf.ConnectionUrl;
import com.mysql.cj.conf.PropertyDefinitions;
import com.mysql.cj.conf.PropertyKey;
import com.mysql.cj.jdbc.JdbcPropertySetImpl;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcLockProvider;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An address that asks for TLS in any way never sends its password in clear. */
final class TlsParametersTest {
    private static final LockClientOptions HASTY =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql | ssl=yes ssl=1 ssl=on ssl=ture ssl=TRUE ssl=verify-full sslmode= sslmode=verify_full"
                        + " sslrootcert=/x.pem sslcert=/x.pem sslkey=/x sslfactory=x.Y sslNegotiation=direct"
                        + " ssl=true&sslmode=disable ssl&sslmode=prefer sslmode=require&sslrootcert=/x.pem",
                "mariadb | useSSL=TRUE useSSL=yes useSSL=1 useSsl=ture sslMode= sslMode=verify-ful serverSslCert=/x.pem"
                        + " trustStore=/x.jks useSsl=true&sslMode=disable sslMode=trust&serverSslCert=/x.pem"
                        + " enabledSslProtocolSuites=TLSv1.3 keyStore=/x.jks",
                "mysql | useSSL=true useSSL=YES requireSSL=yes verifyServerCertificate=ture sslMode= sslMode=verify-full"
                        + " trustCertificateKeyStoreUrl=file:/x tlsVersions=TLSv1.3 requireSSL=true&useSSL=false"
                        + " requireSSL=true sslMode=REQUIRED&trustCertificateKeyStoreUrl=file:/x",
            })
    void tlsAskedForInVain_isRefused(String kind, String parameters) {
        for (String each : parameters.split(" ")) {
            assertThatThrownBy(() -> check(kind, each))
                    .as(each)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("asks for TLS")
                    .hasMessageContaining("parameter number ")
                    .hasMessageNotContaining("ture");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SSLMODE=verify-full&sslMode=disable", "sslMode=disable&sslmode=verify-full"})
    void parameterInTwoSpellings_isRefused(String parameters) {
        assertThatThrownBy(() -> check("mariadb", parameters)).hasMessageContaining("given twice");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql | ssl ssl=true ssl=false ssl=false&sslmode=verify-full sslmode=Verify-Full sslmode=require"
                        + " sslmode=prefer sslmode=require&sslcert=/x.pem&sslkey=/x sslmode=verify-ca&sslrootcert=/x.pem"
                        + " sslResponseTimeout=1000",
                "mariadb | useSsl=true useSSL=false sslMode=verify-full&serverSslCert=/x.pem sslMode=trust sslMode=disable"
                        + " useSsl=true&trustServerCertificate=true sslMode=VERIFY-CA&trustStore=/x.jks",
                "mysql | sslMode=VERIFY_IDENTITY useSSL=false sslMode=required verifyServerCertificate=true requireSSL=true&verifyServerCertificate=false"
                        + " useSSL=true&verifyServerCertificate=true sslMode=VERIFY_CA&trustCertificateKeyStoreUrl=file:/x",
            })
    void tlsThatTheDriverEnforces_isAccepted(String kind, String parameters) {
        for (String each : parameters.split(" ")) {
            assertThatCode(() -> check(kind, each)).as(each).doesNotThrowAnyException();
        }
    }

    private static void check(String kind, String parameters) throws Exception {
        JdbcAddress address = new JdbcUri("jdbc:" + kind + "://h/db?user=u&password=p&" + parameters).address();
        DriverParameters.require(address, DriverManager.getDriver(address.url()), address.url());
    }

    /** The drivers say what they would do with random combinations of names and values. */
    @Test
    void anyCombination_isVerifiedOrRefused_asTheDriverReadsIt() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<String> names =
                List.of("ssl", "useSSL", "useSsl", "requireSSL", "verifyServerCertificate", "sslMode", "sslmode");
        List<String> values = List.of(
                "true", "TRUE", "yes", "1", "on", "", "false", "verify-full", "VERIFY_IDENTITY", "Verify-CA", "tru");
        int accepted = 0;
        for (int i = 0; i < 600; i++) {
            String kind = List.of("postgresql", "mysql", "mariadb").get(random.nextInt(3));
            List<String> parts = new ArrayList<>();
            for (int n = 1 + random.nextInt(2); n > 0; n--) {
                parts.add(pick(names, random) + "=" + pick(values, random));
            }
            String parameters = String.join("&", parts);
            boolean asks = parts.stream().anyMatch(part -> !part.endsWith("=false"))
                    && !parameters.contains("verifyServerCertificate=false");
            try {
                check(kind, parameters);
            } catch (IllegalArgumentException refused) {
                continue;
            }
            accepted++;
            assertThat(!asks || verifies(kind, parameters))
                    .as("%s %s, seed %d", kind, parameters, seed)
                    .isTrue();
        }
        assertThat(accepted).isGreaterThan(10);
    }

    private static String pick(List<String> from, Random random) {
        return from.get(random.nextInt(from.size()));
    }

    private static boolean verifies(String kind, String parameters) throws Exception {
        Properties properties = new JdbcAddress("jdbc:" + kind + "://h/db?" + parameters).properties();
        switch (kind) {
            case "postgresql":
                return org.postgresql.jdbc.SslMode.of(properties).verifyCertificate();
            case "mysql":
                JdbcPropertySetImpl set = new JdbcPropertySetImpl();
                set.initializeProperties(ConnectionUrl.getConnectionUrlInstance("jdbc:mysql://h/db", properties)
                        .getMainHost()
                        .exposeAsProperties());
                return set.<PropertyDefinitions.SslMode>getEnumProperty(PropertyKey.sslMode)
                        .getValue()
                        .name()
                        .startsWith("VERIFY");
            default:
                return org.mariadb.jdbc.Configuration.parse("jdbc:mariadb://h/db", properties)
                        .sslMode()
                        .name()
                        .startsWith("VERIFY");
        }
    }

    /** It refuses TLS and then asks for the password in clear. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ssl=yes",
                "ssl",
                "sslmode=Verify-Full",
                "sslrootcert=/x.pem",
                "channelBinding=require",
                "gssEncMode=require"
            })
    void impostorOfPostgres_receivesNoPassword(String parameter) throws Exception {
        AtomicInteger passwords = new AtomicInteger();
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread thread = new Thread(() -> serve(server, passwords));
            thread.setDaemon(true);
            thread.start();
            String uri = "jdbc:postgresql://127.0.0.1:" + server.getLocalPort() + "/db?user=u&password=S3cretPw9&";

            assertThatThrownBy(() -> new JdbcLockProvider()
                            .connect(uri + parameter, HASTY)
                            .close())
                    .hasMessageNotContaining("S3cretPw9");
            assertThat(passwords).hasValue(0);
        }
    }

    private static void serve(ServerSocket server, AtomicInteger passwords) {
        while (!server.isClosed()) {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout(1_500);
                DataInputStream in = new DataInputStream(socket.getInputStream());
                int length = in.readInt();
                if (in.readInt() == 80_877_103) {
                    socket.getOutputStream().write('N');
                    length = in.readInt();
                    in.readInt();
                }
                in.readNBytes(length - 8);
                socket.getOutputStream().write(new byte[] {'R', 0, 0, 0, 8, 0, 0, 0, 3});
                passwords.addAndGet(in.read() == 'p' ? 1 : 0);
            } catch (IOException e) {
                continue; // The driver has closed the connection.
            }
        }
    }
}
