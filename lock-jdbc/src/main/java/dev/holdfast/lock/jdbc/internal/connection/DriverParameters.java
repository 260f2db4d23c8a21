package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver.Parameters;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Refuses an address with a parameter that its driver does not support, or with one that asks for TLS in vain. Drivers
 * silently ignore such a parameter, so that {@code sslmod=verify-full} would connect in clear text.
 *
 * <p>The databases' own drivers list all their parameters. With another driver, such as a wrapper, only parameters that look
 * like TLS are checked.
 */
public final class DriverParameters {
    /** Prefixes of parameters that concern TLS. */
    private static final Pattern TLS = Pattern.compile(
            "(?i)(use|require|enabled?|disable)?_?(ssl|tls).*|(trust|verify|key_?store|client_?cert|server_?ssl|server_?cert).*");

    private DriverParameters() {}

    /**
     * Checks the names of an address's parameters, and the values of those that concern TLS.
     *
     * @throws IllegalArgumentException if the driver ignores a parameter, or if the connection would be less secure than
     *     a parameter asks for
     */
    public static void require(JdbcAddress address, Driver driver, String url) {
        requireKnown(address, driver, url);
        DatabaseDriver own = own(driver);
        TlsParameters.require(own != null ? own : address.driver(), address);
    }

    /** A database's own driver. It need not be that of the address: MariaDB's driver also takes those of MySQL. */
    private static @Nullable DatabaseDriver own(Driver driver) {
        String type = driver.getClass().getName();
        return DatabaseDialects.driver(
                each -> each.parameters() != null && each.parameters().driver().equals(type));
    }

    /**
     * Checks the names.
     *
     * @throws IllegalArgumentException if the driver ignores a parameter; the message gives its number instead of its
     *     name, which may be the rest of a password with an unescaped {@code &}
     */
    static void requireKnown(JdbcAddress address, Driver driver, String url) {
        Parameters ofAddress = address.driver().parameters();
        if (ofAddress == null) {
            return;
        }
        Set<String> listed = listed(driver, url);
        DatabaseDriver found = own(driver);
        Parameters own = found == null ? null : found.parameters();
        boolean complete = own != null && !listed.isEmpty();
        if (!complete) {
            listed.addAll(ofAddress.forTls());
        }
        listed.addAll(own == null ? Set.of() : own.aliases());
        listed.addAll(Set.of("user", "password"));
        Predicate<String> known = own != null && own.isExact() ? listed::contains : anyCase(listed)::contains;
        address.parameters().forEach((name, number) -> {
            boolean accepted = DatabaseDialects.isSwitch(name)
                    || own != null && own.spellings().contains(name);
            if (!known.test(name) && !accepted && (complete || TLS.matcher(name).matches())) {
                List<String> alike = alike(name, listed);
                throw new IllegalArgumentException("the JDBC address has a parameter that its driver "
                        + driver.getClass().getName()
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
