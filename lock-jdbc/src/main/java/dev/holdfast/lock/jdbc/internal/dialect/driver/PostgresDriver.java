package dev.holdfast.lock.jdbc.internal.dialect.driver;

import dev.holdfast.lock.spi.support.Greeting;
import java.nio.charset.StandardCharsets;
import java.sql.Driver;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** PostgreSQL's driver. */
public final class PostgresDriver extends DatabaseDriver {
    /** Requests TLS; the server accepts, declines, or refuses with an error. */
    private static final Greeting GREETING = new Greeting(
            "PostgreSQL",
            "\0\0\0\u0008\u0004\u00d2\u0016\u002f".getBytes(StandardCharsets.ISO_8859_1),
            said -> said.length == 1 && (said[0] == 'S' || said[0] == 'N') || said[0] == 'E');

    private static final Parameters PARAMETERS = new Parameters(
            "org.postgresql.Driver",
            true,
            Set.of(),
            Set.of(),
            Set.of("ssl", "sslcert", "sslkey", "sslmode", "sslpassword", "sslrootcert"),
            Map.of(
                    "disable", TlsLevel.CLEAR,
                    "allow", TlsLevel.CLEAR,
                    "prefer", TlsLevel.CLEAR,
                    "require", TlsLevel.ENCRYPTED,
                    "verify-ca", TlsLevel.VERIFIED,
                    "verify-full", TlsLevel.VERIFIED),
            "sslmode=verify-full");

    public PostgresDriver() {
        super("postgresql", 5432, GREETING, PARAMETERS);
    }

    @Override
    public Map<String, String> properties(String url, boolean remote, long timeoutMillis) {
        String seconds = Long.toString(Math.max(1, (timeoutMillis + 999) / 1000));
        return Map.of(
                "loginTimeout", seconds, "connectTimeout", seconds, "socketTimeout", seconds, "tcpKeepAlive", "true");
    }

    @Override
    public @Nullable String socketFactory(Driver driver) {
        try {
            return driver instanceof org.postgresql.Driver ? "socketFactory" : null;
        } catch (LinkageError e) {
            return null;
        }
    }

    @Override
    public TlsLevel tlsLevel(Predicate<String> isOn, Predicate<String> isOff) {
        return isOn.test("ssl") ? TlsLevel.VERIFIED : TlsLevel.CLEAR;
    }
}
