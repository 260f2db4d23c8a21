package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendHoldersContract extends BackendGroup {

    public BackendHoldersContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("is nobody while the lock is free, before and after")
    void holder_free_empty() {
        String name = newName();
        assertThat(holder(second(), name)).as("holder before").isEmpty();
        Grant grant = granted(first(), name);

        release(first(), grant);

        assertThat(holder(second(), name)).as("holder after").isEmpty();
        assertThat(holder(first(), name))
                .as("holder after, asked by who released")
                .isEmpty();
    }

    @Test
    @DisplayName("is told with what it gave, the token and the time")
    void holder_held_told() {
        String name = newName();
        Identity identity = new Identity("nightly job \"€\" 'ü' %s {1}; --\\ 😀", "host.example", 123_456);
        Grant grant = grantedTo(identity, name);

        HolderInfo holder = holder(second(), name).orElseThrow();

        assertThat(holder.who()).as("who").isEqualTo(identity.who());
        assertThat(holder.host()).as("host").isEqualTo(identity.host());
        assertThat(holder.pid()).as("process id").isEqualTo(identity.pid());
        assertGrantedToken("token", holder.token(), grant.token());
        assertThat(holder.since())
                .as("since when, by a clock near ours")
                .isBetween(
                        Instant.now().minus(Duration.ofHours(1)), Instant.now().plus(Duration.ofHours(1)));
    }

    @Test
    @DisplayName("may have given no name, or one of 128 characters")
    void holder_shortestAndLongest_told() {
        for (String who : new String[] {"", "界".repeat(128)}) {
            String name = newName();
            grantedTo(new Identity(who, "h".repeat(253), Integer.MAX_VALUE), name);

            assertThat(holder(second(), name).orElseThrow().who()).isEqualTo(who);
        }
    }

    @Test
    @DisplayName("is not who waits")
    void holder_waiter_isNotTold() {
        String name = newName();
        Grant grant = granted(first(), name);
        driver(second(), name).queueUp();

        assertHolderToken("while another waits", holder(first(), name), grant.token());
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("is nobody after expiry")
    void holder_expired_empty() throws Exception {
        String name = newName();
        granted(first(), name);

        fixture().expire(name);

        assertThat(holder(second(), name)).isEmpty();
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("is asked without leaving anything")
    void holder_asked_leavesNothing() {
        String name = newName();

        holder(first(), name);

        assertEntries(name, 0);
    }

    private Grant grantedTo(Identity identity, String name) {
        AcquisitionId acquisition = BackendDriver.newAcquisition(name);
        closing(() -> answer(first().abandon(acquisition, BackendDriver.TIMEOUT_MILLIS)));
        AcquireResult result = answer(first().tryAcquire(new AcquireRequest(
                acquisition, BackendDriver.LEASE_MILLIS, 0, false, null, BackendDriver.TIMEOUT_MILLIS, identity)));
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        return ((AcquireResult.Granted) result).grant();
    }
}
