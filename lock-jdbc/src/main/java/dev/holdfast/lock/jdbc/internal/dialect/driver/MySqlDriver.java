package dev.holdfast.lock.jdbc.internal.dialect.driver;

import dev.holdfast.lock.spi.support.Greeting;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Predicate;

/** MySQL's driver, and the addresses that MariaDB's driver shares with it. */
public final class MySqlDriver extends DatabaseDriver {
    static final int PORT = 3306;

    /** The server sends first: the handshake of version 10, or an error. */
    static final Greeting GREETING = new Greeting(
            "a server of MySQL's or MariaDB's protocol",
            new byte[0],
            said -> said.length > 4 && (said[4] == 10 || said[4] == -1));

    /** The parameter with which MariaDB's driver accepts {@code jdbc:mysql:} URLs. */
    private static final String PERMIT = "permitMysqlScheme";

    /** The driver ignores case in a URL, but not in the properties that it receives from us. */
    private static final Parameters PARAMETERS = new Parameters(
            "com.mysql.cj.jdbc.Driver",
            true,
            Set.of(
                    "cacheDefaultTimezone",
                    "enabledSSLCipherSuites",
                    "enabledTLSProtocols",
                    "haEnableJMX",
                    "haLoadBalanceStrategy",
                    "namedPipePath",
                    "nullCatalogMeansCurrent",
                    "parseInfoCacheFactory",
                    "serverTimezone"),
            Set.of(),
            Set.of(
                    "sslMode",
                    "tlsVersions",
                    "trustCertificateKeyStorePassword",
                    "trustCertificateKeyStoreType",
                    "trustCertificateKeyStoreUrl"),
            Map.of(
                    "disabled", TlsLevel.CLEAR,
                    "preferred", TlsLevel.CLEAR,
                    "required", TlsLevel.ENCRYPTED,
                    "verify_ca", TlsLevel.VERIFIED,
                    "verify_identity", TlsLevel.VERIFIED),
            "sslMode=VERIFY_IDENTITY");

    public MySqlDriver() {
        super("mysql", PORT, GREETING, PARAMETERS);
    }

    @Override
    public boolean isSwitch(String parameter) {
        return parameter.equals(PERMIT);
    }

    /** MariaDB's driver reads it from the URL, before the properties; MySQL's driver ignores it there. */
    @Override
    public String withSwitches(String url, Properties properties) {
        Object permit = properties.remove(PERMIT);
        if (permit == null || permit.equals("false")) {
            return url;
        }
        if (!permit.equals("") && !permit.equals("true")) {
            throw malformed(PERMIT + " is neither true nor false");
        }
        return url + "?" + PERMIT + "=true";
    }

    @Override
    public String withoutDriver() {
        return "; MariaDB's driver takes jdbc:mariadb:, or jdbc:mysql: with the parameter " + PERMIT;
    }

    @Override
    public Map<String, String> properties(String url, boolean remote, long timeoutMillis) {
        String millis = Long.toString(timeoutMillis);
        return Map.of("connectTimeout", millis, "socketTimeout", millis);
    }

    @Override
    public TlsLevel tlsLevel(Predicate<String> isOn, Predicate<String> isOff) {
        if (isOff.test("usessl")) {
            return TlsLevel.CLEAR;
        }
        TlsLevel unverified = isOn.test("requiressl") ? TlsLevel.ENCRYPTED : TlsLevel.CLEAR;
        return isOn.test("verifyservercertificate") ? TlsLevel.VERIFIED : unverified;
    }
}
