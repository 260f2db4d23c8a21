package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.house.House;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The JVM, the sessions and the database's clock are in zones of their own. */
@House("time:zones")
final class TimeZoneTest {
    private static final TimeZone BEFORE = TimeZone.getDefault();

    private static final Map<SharedDb, String> SET_ZONE = Map.of(
            SharedDb.H2, "SET TIME ZONE '%s'",
            SharedDb.POSTGRESQL, "SET TIME ZONE '%s'",
            SharedDb.MARIADB, "SET time_zone = '%s'",
            SharedDb.MARIADB_BY_MYSQL_DRIVER, "SET time_zone = '%s'");

    @BeforeAll
    static void setZoneOfJvm() {
        TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Auckland"));
    }

    @AfterAll
    static void restoreZoneOfJvm() {
        TimeZone.setDefault(BEFORE);
    }

    private static LockClient client(Db db, String setZone) {
        HikariDataSource pool = db.pool(config -> config.setConnectionInitSql(setZone));
        return JdbcLocks.builder(pool, pool::close)
                .createTable(true)
                .options(LockClientOptions.builder()
                        .lockOptions(LockOptions.builder()
                                .lease(Duration.ofSeconds(20))
                                .build())
                        .build())
                .build();
    }

    @ParameterizedTest
    @EnumSource
    void sessionsInOtherZones_excludeEachOther_andAgreeOnSince(SharedDb shared) throws Exception {
        Db db = shared.db();
        String zone = SET_ZONE.get(shared);
        try (LockClient east = client(db, zone.formatted("+02:00"));
                LockClient west = client(db, zone.formatted("-05:00"))) {
            Held held = new Held(west, "zones");
            assertThat(east.holder("zones/mutex").orElseThrow().since())
                    .isCloseTo(Instant.now(), within(10, ChronoUnit.SECONDS));
            held.assertExcludes(east);
            held = new Held(east, "zones back");
            held.assertExcludes(west);
            assertThat(west.holders("zones back/permits"))
                    .allSatisfy(holder ->
                            assertThat(holder.since()).isCloseTo(Instant.now(), within(10, ChronoUnit.SECONDS)));
        }
    }

    /** H2 has the rules of the zones; the other databases get them from their own files, and compute in UTC. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void clockIsChanged_whileLocksAreHeld_theyExcludeAsBefore(boolean begins) throws Exception {
        boolean heldBefore = false;
        for (int seconds = 2; !heldBefore; seconds *= 2) { // a busy machine takes longer until the locks are held
            Instant change = Instant.now().truncatedTo(ChronoUnit.SECONDS).plusSeconds(seconds);
            String setZone = SET_ZONE.get(SharedDb.H2).formatted(JumpingZone.once(begins, change));
            try (LockClient holder = client(SharedDb.H2.db(), setZone);
                    LockClient other = client(SharedDb.H2.db(), setZone)) {
                Held held = new Held(holder, "change " + begins + seconds);
                heldBefore = Instant.now().isBefore(change);
                while (Instant.now().isBefore(change)) {
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                held.assertExcludes(other);
            }
        }
    }

    /** Two readers, two permits of two, and a lock. */
    private static final class Held {
        private final String name;
        private final Lease mutex;
        private final Lease reader;
        private final Lease otherReader;
        private final Permit permit;
        private final Permit otherPermit;

        Held(LockClient client, String name) throws InterruptedException {
            this.name = name;
            mutex = client.lock(name + "/mutex").acquire();
            reader = client.readWriteLock(name + "/readers").readLock().acquire();
            otherReader = client.readWriteLock(name + "/readers").readLock().acquire();
            permit = client.semaphore(name + "/permits", 2).acquire();
            otherPermit = client.semaphore(name + "/permits", 2).acquire();
        }

        void assertExcludes(LockClient other) {
            assertThat(other.lock(name + "/mutex").tryAcquire()).isEmpty();
            try (Lease beside = other.readWriteLock(name + "/readers")
                    .readLock()
                    .tryAcquire()
                    .orElseThrow()) {
                assertThat(beside.isValid()).isTrue();
            }
            assertThat(other.lock(name + "/readers").tryAcquire()).isEmpty();
            assertThat(other.semaphore(name + "/permits", 2).tryAcquire()).isEmpty();
            assertThat(mutex.isValid() && reader.isValid() && otherReader.isValid())
                    .isTrue();
            assertThat(permit.isValid() && otherPermit.isValid()).isTrue();
        }
    }
}
