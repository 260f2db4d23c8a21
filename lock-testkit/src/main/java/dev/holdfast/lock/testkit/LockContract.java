package dev.holdfast.lock.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Everything that a lock on any backend promises. A backend's test extends it:
 *
 * <pre>{@code
 * final class RedisStandaloneContractTest extends LockContract {
 *     @Override protected LockFixture startFixture() { return RedisServer.start()…; }
 * }
 * }</pre>
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class LockContract {
    private @Nullable LockFixture fixture;

    /** For subclasses. */
    protected LockContract() {}

    /**
     * Starts the store. Called once for the class; the contract closes it.
     *
     * @return a running fixture
     * @throws Exception if it cannot be started, which fails the class
     */
    protected abstract LockFixture startFixture() throws Exception;

    @BeforeAll
    final void start() throws Exception {
        fixture = startFixture();
    }

    @AfterAll
    final void stop() {
        if (fixture != null) {
            fixture.close();
        }
    }

    final LockFixture fixture() {
        if (fixture == null) {
            throw new IllegalStateException("the fixture is not started");
        }
        return fixture;
    }

    @Nested
    @DisplayName("The fixture")
    class Fixture {
        Fixture() {}

        @Test
        @DisplayName("names itself and has a lease that its backend keeps")
        void namesItself() {
            assertThat(fixture().name()).isNotBlank();
            try (var backend = fixture().newBackend()) {
                assertThat(fixture().shortLease().toMillis())
                        .isGreaterThanOrEqualTo(backend.info().minLeaseMillis());
            }
        }
    }
}
