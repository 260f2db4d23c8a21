package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Remedy;

/** Translates failures of a database, as classified by {@link JdbcFailure}, into exceptions of the lock API. */
public final class JdbcFailureTranslator {
    /** For failures before the dialect is known. */
    public static final FailureTranslator CONNECTING = of("the database");

    private static final String SOMEBODY = "<the user>";

    private JdbcFailureTranslator() {}

    /** For a database without a lock table of the client. */
    public static FailureTranslator of(String database) {
        return new FailureTranslator(database, cause -> remedy(database, cause));
    }

    /** For statements on the lock table. */
    public static FailureTranslator of(Schema schema) {
        return of(schema, SOMEBODY);
    }

    /** The same, with the name of the database user for the remedy. */
    public static FailureTranslator of(Schema schema, String user) {
        String database = schema.dialect().title();
        return new FailureTranslator(database, cause -> switch (DatabaseDialects.failure(cause)) {
            case NO_TABLE -> new Remedy.PassThrough(schema.missing(cause));
            case NO_PERMISSION -> schema.denied(user, cause);
            case OUT_OF_RANGE -> new Remedy.PassThrough(schema.drawnBehind(cause));
            default -> remedy(database, cause);
        });
    }

    private static Remedy remedy(String database, Throwable cause) {
        if (cause instanceof RuntimeException ours) {
            return new Remedy.PassThrough(ours);
        }
        String seen = " (" + FailureTranslator.summary(cause) + ")";
        JdbcFailure failure = DatabaseDialects.failure(cause);
        return switch (failure) {
            case NO_ACCESS ->
                new Remedy.Configuration(
                        database + " refuses the connection" + seen,
                        "check the user, the password and the database's name");
            case NO_TLS ->
                new Remedy.Configuration(
                        database + " does not speak TLS" + seen,
                        "switch TLS on in the server, or off in the address, as its driver has it");
            case CLOSED ->
                new Remedy.PassThrough(new LockClosedException(
                        "the data source was closed before the lock client; close the lock client first", cause));
            case IN_USE ->
                new Remedy.Configuration(
                        database + " is open in another process" + seen, DatabaseDialects.remedy(failure));
            case READ_ONLY ->
                new Remedy.Unavailable(
                        database + " accepts no writes" + seen,
                        "a standby? lead the data source to the primary; or its administrator has made it read-only");
            case NO_TABLE, NO_PERMISSION, OUT_OF_RANGE, REFUSED ->
                new Remedy.Configuration(
                        database + " refuses the statement" + seen,
                        "check its version and the table's columns against the schema file");
            case SHARED_NAMES ->
                new Remedy.Unavailable(
                        database + " had another statement under the name of this one" + seen,
                        DatabaseDialects.remedy(failure));
            case SETTING ->
                new Remedy.Configuration(
                        "a setting of " + database + " or of the session forbids the statement" + seen,
                        DatabaseDialects.remedy(failure));
            case CONFLICT ->
                new Remedy.Unavailable(
                        "other transactions of " + database + " conflicted with every attempt" + seen,
                        "do not keep transactions open on the lock table");
            case UNAVAILABLE ->
                new Remedy.Unavailable(
                        "no usable answer from " + database + seen + ", the outcome is unknown",
                        "check the server, the network and the pool's size");
        };
    }
}
