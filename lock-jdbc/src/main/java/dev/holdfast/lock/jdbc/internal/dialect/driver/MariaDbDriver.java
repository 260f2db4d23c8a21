package dev.holdfast.lock.jdbc.internal.dialect.driver;

import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** MariaDB's driver. */
public final class MariaDbDriver extends DatabaseDriver {
    private static final Parameters PARAMETERS = new Parameters(
            "org.mariadb.jdbc.Driver",
            false,
            Set.of(
                    "clientCertificateKeyStorePassword",
                    "clientCertificateKeyStoreType",
                    "clientCertificateKeyStoreUrl",
                    "databaseTerm",
                    "nullCatalogMeansCurrent",
                    "trustCertificateKeyStorePassword",
                    "trustCertificateKeyStoreType",
                    "trustCertificateKeyStoreUrl"),
            Set.of("useSsl", "useSSL", "trustServerCertificate", "disableSslHostnameVerification"),
            Set.of("sslMode", "serverSslCert", "trustStore", "trustStorePassword", "trustStoreType"),
            Map.of(
                    "disable", TlsLevel.CLEAR,
                    "trust", TlsLevel.ENCRYPTED,
                    "verify-ca", TlsLevel.VERIFIED,
                    "verify-full", TlsLevel.VERIFIED),
            "sslMode=verify-full");

    public MariaDbDriver() {
        super("mariadb", MySqlDriver.PORT, MySqlDriver.GREETING, PARAMETERS);
    }

    @Override
    public boolean decodesParameters() {
        return false;
    }

    /** Other drivers prepare statements on the server by default. */
    @Override
    public Map<String, String> properties(String url, boolean remote, long timeoutMillis) {
        String millis = Long.toString(timeoutMillis);
        return Map.of("connectTimeout", millis, "socketTimeout", millis, "useServerPrepStmts", "true");
    }

    @Override
    public TlsLevel tlsLevel(Predicate<String> isOn, Predicate<String> isOff) {
        TlsLevel encrypted = isOn.test("trustservercertificate") ? TlsLevel.ENCRYPTED : TlsLevel.VERIFIED;
        return isOn.test("usessl") ? encrypted : TlsLevel.CLEAR;
    }
}
