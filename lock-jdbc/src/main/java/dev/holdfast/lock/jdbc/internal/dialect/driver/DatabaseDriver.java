package dev.holdfast.lock.jdbc.internal.dialect.driver;

import dev.holdfast.lock.spi.support.Greeting;
import java.sql.Driver;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What differs between addresses of databases, and between their drivers. Most addresses have the form
 * {@code jdbc:scheme://user:password@host:port/database?parameter=value&…}. Immutable.
 */
public abstract class DatabaseDriver {
    private final String scheme;
    private final int defaultPort;
    private final Greeting greeting;
    private final @Nullable Parameters parameters;

    /** How securely a driver connects. */
    public enum TlsLevel {
        CLEAR,
        ENCRYPTED,
        VERIFIED
    }

    /**
     * The parameters of a driver that ignores unknown ones.
     *
     * @param driver the class of the driver, which lists its parameters
     * @param isExact whether it ignores a parameter in another case
     * @param aliases that it accepts but does not list
     * @param spellings in which it accepts some of its parameters, if it ignores others
     * @param forTls those that wrapping drivers pass on to it
     * @param tlsModes the values of its parameter {@code sslMode}, in lower case
     * @param verified the parameter that asks for a verified certificate
     */
    public record Parameters(
            String driver,
            boolean isExact,
            Set<String> aliases,
            Set<String> spellings,
            Set<String> forTls,
            Map<String, TlsLevel> tlsModes,
            String verified) {}

    DatabaseDriver(String scheme, int defaultPort, Greeting greeting, @Nullable Parameters parameters) {
        this.scheme = scheme;
        this.defaultPort = defaultPort;
        this.greeting = greeting;
        this.parameters = parameters;
    }

    /** What follows {@code jdbc:} in an address. */
    public final String scheme() {
        return scheme;
    }

    public final int defaultPort() {
        return defaultPort;
    }

    /** How a server is recognised. */
    public final Greeting greeting() {
        return greeting;
    }

    /** Null if the driver refuses unknown parameters. */
    public final @Nullable Parameters parameters() {
        return parameters;
    }

    // Addresses

    /** The failure of an address that cannot be read. The reason repeats no part of it. */
    public static IllegalArgumentException malformed(String why) {
        return new IllegalArgumentException(
                "the JDBC address is malformed: " + why + " (it may hold a password, so it is not shown)");
    }

    /**
     * Splits an address that has a form of its own.
     *
     * @param login receives {@code user} and {@code password}
     * @return the address without them, or null if it has the form of most
     */
    public @Nullable String split(String address, BiConsumer<String, String> login) {
        return null;
    }

    /** Whether the driver decodes parameters of the address. */
    public boolean decodesParameters() {
        return true;
    }

    /** Whether a parameter of that name must be in the URL, where it may stand without a value. */
    public boolean isSwitch(String parameter) {
        return false;
    }

    /** Moves switches from the properties to the URL. */
    public String withSwitches(String url, Properties properties) {
        return url;
    }

    /** Whether the database runs in this process. */
    public boolean isEmbedded(String url) {
        return false;
    }

    /** Whether the URL itself says that the server speaks TLS, as opposed to a parameter. */
    public boolean isTls(String url) {
        return false;
    }

    /** What an address has if its server speaks TLS, or if it does not. */
    public String otherForm(boolean tls) {
        return "an address of its TLS as the driver has it";
    }

    // The driver

    /** What else to do if there is no driver, after a semicolon. Empty if nothing. */
    public String withoutDriver() {
        return "";
    }

    /**
     * Time-outs, and what a driver needs to work as others do by default.
     *
     * @param remote whether a server is at the other end
     */
    public abstract Map<String, String> properties(String url, boolean remote, long timeoutMillis);

    /** The name of the parameter for the class that makes sockets, or null if the driver is not known to have one. */
    public @Nullable String socketFactory(Driver driver) {
        return null;
    }

    /** How the driver connects if the address has no {@code sslMode}, given the flags that are true and those that are false. */
    public TlsLevel tlsLevel(Predicate<String> isOn, Predicate<String> isOff) {
        return TlsLevel.CLEAR;
    }
}
