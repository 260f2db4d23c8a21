package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver.Parameters;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver.TlsLevel;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Refuses an address that asks for TLS in a way that its driver does not fulfil. Drivers read a value that they do not
 * know as false, as {@code ssl=yes} or {@code useSSL=TRUE}, and ignore a certificate without a mode that needs it. They
 * then send the password in clear to whoever answers.
 *
 * <p>A parameter asks for TLS, or for a verified certificate. The mode that the driver derives from all parameters must
 * provide both. Modes are given explicitly, so {@code sslmode=require} without a certificate is accepted.
 */
final class TlsParameters {
    /** Without a meaning unless the connection is encrypted. */
    private static final Pattern FOR_TLS = Pattern.compile("(enabled)?_?(ssl|tls)(?!responsetimeout|$).*"
            + "|(trust|verify|key_?store|key_?password|client_?cert|server_?ssl|server_?cert|fallbackto|fips).*");

    /** Without a meaning unless the server's certificate is verified. */
    private static final Pattern FOR_VERIFICATION =
            Pattern.compile("(trust(store|certificate)|server_?ssl|server_?cert|sslrootcert|sslhostnameverifier).*");

    private static final Set<String> FLAGS = Set.of(
            "ssl",
            "usessl",
            "requiressl",
            "verifyservercertificate",
            "trustservercertificate",
            "disablesslhostnameverification");

    private final DatabaseDriver driver;
    private final Parameters rules;
    private final Map<String, String> given = new HashMap<>();
    private final Map<String, Integer> numbers = new HashMap<>();

    private TlsParameters(DatabaseDriver driver, Parameters rules, JdbcAddress address) {
        this.driver = driver;
        this.rules = rules;
        Properties properties = address.properties();
        address.parameters().forEach((name, number) -> {
            String key = name.toLowerCase(Locale.ROOT);
            given.put(key, properties.getProperty(name, ""));
            numbers.put(key, number);
        });
    }

    /**
     * Checks the parameters of an address that concern TLS.
     *
     * @param driver whose syntax the parameters have
     * @throws IllegalArgumentException if a value is not one of the driver's, or if the connection would be less secure
     *     than a parameter asks for; the message repeats no value
     */
    static void require(DatabaseDriver driver, JdbcAddress address) {
        Parameters rules = driver.parameters();
        if (rules == null) {
            return;
        }
        TlsParameters parameters = new TlsParameters(driver, rules, address);
        TlsLevel level = parameters.level();
        parameters.given.forEach((name, value) -> {
            TlsLevel asked = parameters.asked(name, value);
            if (level.compareTo(asked) < 0) {
                throw parameters.refused(
                        name,
                        asked == TlsLevel.VERIFIED
                                ? "needs a verified certificate, which the other parameters do not ask for"
                                : "needs TLS, which the other parameters do not enforce");
            }
        });
    }

    /** What the driver does, given all parameters. */
    private TlsLevel level() {
        TlsLevel mode = mode();
        return mode != null ? mode : driver.tlsLevel(this::flag, name -> given.containsKey(name) && !flag(name));
    }

    private @Nullable TlsLevel mode() {
        String value = given.get("sslmode");
        if (value == null) {
            return null;
        }
        TlsLevel level = rules.tlsModes().get(value.toLowerCase(Locale.ROOT));
        if (level == null) {
            throw refused("sslmode", "has none of the values of its driver");
        }
        return level;
    }

    private boolean flag(String name) {
        return Boolean.TRUE.equals(flag(name, given.get(name)));
    }

    /** Accepts only what every driver reads in the same way. */
    private Boolean flag(String name, @Nullable String value) {
        boolean isBare = name.equals("ssl") && "".equals(value);
        if (value != null && !value.equals("true") && !value.equals("false") && !isBare) {
            throw refused(name, "is neither true nor false, in lower case");
        }
        return "true".equals(value) || isBare;
    }

    private TlsLevel asked(String name, String value) {
        if (FLAGS.contains(name)) {
            boolean isSet = flag(name, value);
            boolean loosens = name.startsWith("trust") || name.startsWith("disable");
            if (!isSet || loosens) {
                return TlsLevel.CLEAR;
            }
            return name.startsWith("verify") || !isLoosened() ? TlsLevel.VERIFIED : TlsLevel.ENCRYPTED;
        }
        if (name.equals("sslmode") || !FOR_TLS.matcher(name).matches()) {
            return TlsLevel.CLEAR;
        }
        return FOR_VERIFICATION.matcher(name).matches() ? TlsLevel.VERIFIED : TlsLevel.ENCRYPTED;
    }

    /** Whether the address says explicitly that the certificate need not be verified. */
    private boolean isLoosened() {
        return given.containsKey("sslmode")
                || flag("trustservercertificate")
                || "false".equals(given.get("verifyservercertificate"));
    }

    private IllegalArgumentException refused(String name, String why) {
        return new IllegalArgumentException("the JDBC address asks for TLS and would not get it as asked: " + name
                + ", parameter number " + numbers.get(name) + " without those of holdfast, " + why + "; write "
                + rules.verified()
                + " (or another of the driver's modes alone, without certificates, for less)");
    }
}
