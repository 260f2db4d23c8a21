package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.house.House;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The table of strategy "unique index" without its sequence, or with one that starts again. */
@House("restores:emptied")
final class LostSequenceTest {
    private static final Pattern STATEMENT =
            Pattern.compile("((?:CREATE|ALTER) SEQUENCE (?:IF NOT EXISTS )?\\w+ (?:START|RESTART) WITH \\d+)");

    private final String table = SharedDb.newTable();

    private LockClient client(Db db, boolean create) {
        HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(2));
        return JdbcLocks.builder(pool, pool::close)
                .strategy(JdbcStrategy.UNIQUE_INDEX)
                .table(table)
                .createTable(create)
                .build();
    }

    private static long token(LockClient client) {
        try (Lease lease = client.lock("job").tryAcquire().orElseThrow()) {
            return lease.token();
        }
    }

    private static long tokenAfter(LockClient client, int grants) {
        for (int i = 1; i < grants; i++) {
            token(client);
        }
        return token(client);
    }

    /** The statement that the message advises. */
    private static String remedy(LockConfigurationException refused) {
        Matcher matcher = STATEMENT.matcher(refused.getMessage());
        assertThat(matcher.find()).as(refused.getMessage()).isTrue();
        return matcher.group(1);
    }

    private LockConfigurationException refusal(Db db, boolean create) {
        try (LockClient client = client(db, create)) {
            throw new AssertionError(client + " was built");
        } catch (LockConfigurationException e) {
            return e;
        }
    }

    @ParameterizedTest
    @EnumSource
    void sequenceIsLost_messageAndCreation_startBehindTheTable(SharedDb shared) throws Exception {
        Db db = shared.db();
        long before;
        try (LockClient client = client(db, true)) {
            before = tokenAfter(client, 5);
        }
        db.execute("DROP SEQUENCE " + table + "_token");
        String remedy = remedy(refusal(db, false));
        assertThat(remedy).startsWith("CREATE SEQUENCE IF NOT EXISTS " + table + "_token START WITH ");
        try (LockClient client = client(db, true)) {
            assertThat(token(client)).isGreaterThan(before);
            before = token(client);
        }
        db.execute("DROP SEQUENCE " + table + "_token");
        db.execute(remedy(refusal(db, false)));
        try (LockClient client = client(db, false)) {
            assertThat(token(client)).isGreaterThan(before);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sequenceStartsAgain_isRefused_untilItIsBehindTheTable(SharedDb shared) throws Exception {
        Db db = shared.db();
        long before;
        try (LockClient client = client(db, true)) {
            before = tokenAfter(client, 5);
            db.execute("ALTER SEQUENCE " + table + "_token RESTART WITH 1");

            assertThatThrownBy(() -> token(client))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("sequence '" + table + "_token' returned a token that is not above")
                    .hasMessageContaining("ALTER SEQUENCE " + table + "_token RESTART WITH n");
        }
        String remedy = remedy(refusal(db, true));
        assertThat(remedy).startsWith("ALTER SEQUENCE " + table + "_token RESTART WITH ");
        db.execute(remedy);
        try (LockClient client = client(db, false)) {
            assertThat(token(client)).isGreaterThan(before);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sequenceIsLostInUse_messageDoesNotAdviseToBeginAgain(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (LockClient client = client(db, true)) {
            tokenAfter(client, 2);
            db.execute("DROP SEQUENCE " + table + "_token");

            assertThatThrownBy(() -> token(client))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining(table + "_token START WITH n, where n is above the table's greatest token");
        }
    }
}
