package dev.holdfast.lock.shedlock;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.time.Duration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.test.support.AbstractLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** ShedLock's own tests of a provider. A second client, as another process, sees what is locked. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ProviderContract extends AbstractLockProviderIntegrationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** Connecting has to be done within it, on a machine that is busy. */
    private static final LockClientOptions PATIENT =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(10)).build();

    private LockClient client;
    private LockClient observer;
    private LockProvider provider;

    /** Starts the store. */
    abstract String start() throws Exception;

    /** Stops the store. */
    abstract void stop() throws Exception;

    @BeforeAll
    void connect() throws Exception {
        String uri = start();
        client = LockClient.connect(uri, PATIENT);
        observer = LockClient.connect(uri, PATIENT);
        provider = new HoldfastLockProvider(client);
    }

    @AfterAll
    void close() throws Exception {
        try (AutoCloseable store = this::stop;
                LockClient first = client;
                LockClient second = observer) {
            // closed from the last to the first, those that there are
        }
    }

    @Override
    protected LockProvider getLockProvider() {
        return provider;
    }

    @Override
    protected void assertUnlocked(String name) {
        await("'" + name + "' is free")
                .atMost(PATIENCE)
                .until(() -> observer.holder(name).isEmpty());
    }

    @Override
    protected void assertLocked(String name) {
        await("'" + name + "' is taken")
                .atMost(PATIENCE)
                .until(() -> observer.holder(name).isPresent());
    }

    /** With a second more than ShedLock's own, for a machine that is busy. */
    @Test
    @Override
    public void shouldLockAtLeastFor() throws InterruptedException {
        untilWithoutPause(() -> doTestShouldLockAtLeastFor(1_000));
    }

    @Test
    @Override
    public void shouldTimeout() throws InterruptedException {
        untilWithoutPause(() -> doTestTimeout(Duration.ofSeconds(1)));
    }

    private interface Steps {
        void run() throws InterruptedException;
    }

    /** ShedLock's timing holds only if the machine does not pause between the steps: one success in five tries is enough. */
    private void untilWithoutPause(Steps steps) throws InterruptedException {
        for (int tries = 1; ; tries++) {
            try {
                steps.run();
                return;
            } catch (AssertionError e) {
                if (tries == 5) {
                    throw e;
                }
                assertUnlocked(LOCK_NAME1);
            }
        }
    }
}
