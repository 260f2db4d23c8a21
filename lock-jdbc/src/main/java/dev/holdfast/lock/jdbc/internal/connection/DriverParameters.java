package dev.holdfast.lock.jdbc.internal.connection;

import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Refuses an address with a parameter that its driver does not support, or with one that asks for TLS in vain. Drivers
 * silently ignore such a parameter, so that {@code sslmod=verify-full} would connect in clear text.
 *
 * <p>PostgreSQL's, MySQL's and MariaDB's own drivers list all their parameters. With another driver, such as a wrapper,
 * only parameters that look like TLS are checked. H2 refuses unknown settings itself.
 */
public final class DriverParameters {
    private static final String POSTGRESQL = "org.postgresql.Driver";
    private static final String MYSQL = "com.mysql.cj.jdbc.Driver";
    private static final String MARIADB = "org.mariadb.jdbc.Driver";

    /** Prefixes of parameters that concern TLS. */
    private static final Pattern TLS = Pattern.compile(
            "(?i)(use|require|enabled?|disable)?_?(ssl|tls).*|(trust|verify|key_?store|client_?cert|server_?ssl|server_?cert).*");

    /** Aliases that the drivers accept but do not list. */
    private static final Map<String, Set<String>> ALIASES = Map.of(
            MYSQL,
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
            MARIADB,
            Set.of(
                    "clientCertificateKeyStorePassword",
                    "clientCertificateKeyStoreType",
                    "clientCertificateKeyStoreUrl",
                    "databaseTerm",
                    "nullCatalogMeansCurrent",
                    "trustCertificateKeyStorePassword",
                    "trustCertificateKeyStoreType",
                    "trustCertificateKeyStoreUrl"));

    /** Accepted in this spelling only. */
    private static final Set<String> MARIADB_EXACT =
            Set.of("useSsl", "useSSL", "trustServerCertificate", "disableSslHostnameVerification");

    /** Parameters that wrapping drivers pass on to the database's own driver. */
    private static final Map<String, Set<String>> TLS_OF_KIND = Map.of(
            "postgresql",
            Set.of("ssl", "sslcert", "sslkey", "sslmode", "sslpassword", "sslrootcert"),
            "mysql",
            Set.of(
                    "sslMode",
                    "tlsVersions",
                    "trustCertificateKeyStorePassword",
                    "trustCertificateKeyStoreType",
                    "trustCertificateKeyStoreUrl"),
            "mariadb",
            Set.of("sslMode", "serverSslCert", "trustStore", "trustStorePassword", "trustStoreType"));

    private DriverParameters() {}

    /**
     * Checks the names of an address's parameters, and the values of those that concern TLS.
     *
     * @throws IllegalArgumentException if the driver ignores a parameter, or if the connection would be less secure than
     *     a parameter asks for
     */
    public static void require(JdbcAddress address, Driver driver, String url) {
        requireKnown(address, driver, url);
        boolean isMariaDb = driver.getClass().getName().equals(MARIADB);
        TlsParameters.require(isMariaDb ? "mariadb" : address.kind(), address);
    }

    /**
     * Checks the names.
     *
     * @throws IllegalArgumentException if the driver ignores a parameter; the message gives its number instead of its
     *     name, which may be the rest of a password with an unescaped {@code &}
     */
    static void requireKnown(JdbcAddress address, Driver driver, String url) {
        if (address.kind().equals("h2")) {
            return;
        }
        String type = driver.getClass().getName();
        Set<String> listed = listed(driver, url);
        boolean complete = Set.of(POSTGRESQL, MYSQL, MARIADB).contains(type) && !listed.isEmpty();
        if (!complete) {
            listed.addAll(TLS_OF_KIND.getOrDefault(address.kind(), Set.of()));
        }
        listed.addAll(ALIASES.getOrDefault(type, Set.of()));
        listed.addAll(Set.of("user", "password"));
        // MySQL's driver ignores case in a URL, but not in the properties that it receives from us.
        boolean isExact = type.equals(POSTGRESQL) || type.equals(MYSQL);
        Predicate<String> known = isExact ? listed::contains : anyCase(listed)::contains;
        address.parameters().forEach((name, number) -> {
            if (name.equals(JdbcAddress.PERMIT_MYSQL)) {
                return;
            }
            boolean exact = type.equals(MARIADB) && MARIADB_EXACT.contains(name);
            if (!known.test(name) && !exact && (complete || TLS.matcher(name).matches())) {
                List<String> alike = alike(name, listed);
                throw new IllegalArgumentException("the JDBC address has a parameter that its driver " + type
                        + " does not support and would ignore: number " + number + ", not counting those of holdfast"
                        + (alike.isEmpty() ? "" : "; parameters of the driver with the same beginning: " + alike)
                        + "; check its spelling and its case, or write a & of a password as %26");
            }
        });
    }

    private static Set<String> listed(Driver driver, String url) {
        Set<String> names = new TreeSet<>();
        try {
            DriverPropertyInfo[] infos = driver.getPropertyInfo(url, new Properties());
            for (DriverPropertyInfo info : infos == null ? new DriverPropertyInfo[0] : infos) {
                names.add(info.name);
            }
        } catch (SQLException | RuntimeException e) {
            names.clear(); // The driver does not list its parameters.
        }
        return names;
    }

    private static Set<String> anyCase(Set<String> names) {
        Set<String> any = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        any.addAll(names);
        return any;
    }

    private static List<String> alike(String name, Set<String> names) {
        String start = name.substring(0, Math.min(3, name.length())).toLowerCase(Locale.ROOT);
        return names.stream()
                .filter(each -> each.toLowerCase(Locale.ROOT).startsWith(start))
                .collect(Collectors.toCollection(ArrayList::new));
    }
}
