package dev.holdfast.lock.testkit;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** What all groups of tests in a contract share. An instance serves one test. */
@Timeout(value = 90, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ContractGroup {

    /** How long something may take that should take milliseconds, on a machine that is busy. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

    final LockContract contract;
    private final Deque<AutoCloseable> cleanUps = new ArrayDeque<>();

    ContractGroup(LockContract contract) {
        this.contract = contract;
    }

    final LockFixture fixture() {
        return contract.fixture();
    }

    /** Returns a name that no other test uses, in this run or another one on the same store. */
    static String newName() {
        return "contract-"
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    final long shortLeaseMillis() {
        return fixture().shortLease().toMillis();
    }

    /** Closes it when the test is over, the latest first. */
    final <T extends AutoCloseable> T closing(T resource) {
        cleanUps.push(resource);
        return resource;
    }

    @AfterEach
    final void cleanUp() throws Exception {
        Exception first = null;
        while (!cleanUps.isEmpty()) {
            try {
                cleanUps.pop().close();
            } catch (Exception e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
