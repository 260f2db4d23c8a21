package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.support.CleanUps;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** What all groups of tests in a contract share. An instance serves one test. */
@Timeout(value = 90, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class ContractGroup {

    public static final Duration PATIENCE = Waits.PATIENCE;

    public final ContractContext context;
    private final CleanUps cleanUps = new CleanUps();

    public ContractGroup(ContractContext context) {
        this.context = context;
    }

    public final LockFixture fixture() {
        return context.fixture();
    }

    /** Returns a name that no other test uses, in this run or another one on the same store. */
    public static String newName() {
        return "contract-"
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    public final long shortLeaseMillis() {
        return fixture().shortLease().toMillis();
    }

    public final void assertEntries(String name, long expected) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(fixture().entries(name))
                        .as("entries on the server for '%s'", name)
                        .isEqualTo(expected));
    }

    /** Whether it is the token of that grant, as the store reports it. */
    public final void assertHolderToken(String what, Optional<HolderInfo> holder, long granted) {
        assertGrantedToken(
                "token of the holder: " + what,
                holder.orElseThrow(() -> new AssertionError("no holder: " + what))
                        .token(),
                granted);
    }

    /** Whether the store reports the token of a grant unchanged, or a greater one where several servers decide. */
    public final void assertGrantedToken(String what, long told, long granted) {
        if (fixture().capabilities().contains(Capability.HOLDER_TOKEN)) {
            assertThat(told).as(what).isEqualTo(granted);
        } else {
            assertThat(told).as(what).isGreaterThanOrEqualTo(granted);
        }
    }

    /** Closes it when the test is over, the latest first. */
    public final <T extends AutoCloseable> T closing(T resource) {
        cleanUps.add(resource);
        return resource;
    }

    @AfterEach
    final void cleanUp() throws Exception {
        cleanUps.run();
    }
}
