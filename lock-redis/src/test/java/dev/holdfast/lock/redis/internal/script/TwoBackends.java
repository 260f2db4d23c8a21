package dev.holdfast.lock.redis.internal.script;

import dev.holdfast.lock.redis.RedisFixture;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;

/** For tests of two backends by themselves on one server, with notified waiters; each test has a name of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class TwoBackends {
    public static final Duration PATIENCE = Duration.ofSeconds(60);

    public RedisFixture fixture;
    public LockBackend a;
    public LockBackend b;
    public String name;

    @BeforeAll
    final void start() throws Exception {
        fixture = RedisFixture.notified();
    }

    @AfterAll
    final void stop() {
        fixture.close();
    }

    @BeforeEach
    final void connect(TestInfo test) {
        name = test.getDisplayName();
        a = fixture.newBackend();
        b = fixture.newBackend();
    }

    @AfterEach
    final void disconnect() {
        a.close();
        b.close();
    }

    @FunctionalInterface
    public interface Steps {
        void run() throws Exception;
    }

    /**
     * Runs steps that only hold if the machine does not pause between them. A failure counts if they took less than that, or
     * at the last try; before another one, the server drops all.
     */
    public final void withoutPause(Duration pause, int tries, Steps steps) throws Exception {
        for (int i = 1; ; i++) {
            long start = System.nanoTime();
            try {
                steps.run();
                return;
            } catch (AssertionError | Exception e) {
                if (i == tries || System.nanoTime() - start < pause.toNanos()) {
                    throw e;
                }
                fixture.server().command("FLUSHALL");
            }
        }
    }

    public final RedisKeys keys() {
        return RedisKeys.of("holdfast", name);
    }

    public final AcquisitionId acquisition() {
        return BackendDriver.newAcquisition(name);
    }
}
