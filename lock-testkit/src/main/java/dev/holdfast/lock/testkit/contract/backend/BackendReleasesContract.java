package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendReleasesContract extends BackendGroup {

    public BackendReleasesContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("by the holder says that it was held, and frees the lock for others")
    void release_held_frees() {
        String name = newName();
        Grant grant = granted(first(), name);

        assertThat(release(first(), grant)).isEqualTo(ReleaseResult.RELEASED);

        driver(second(), name).acquire();
    }

    @Test
    @DisplayName("repeated says that it was not held")
    void release_twice_notHeld() {
        Grant grant = granted(first(), newName());
        release(first(), grant);

        assertThat(release(first(), grant)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    @Test
    @DisplayName("by an earlier holder says that it was not held, and leaves the present one alone")
    void release_byEarlierHolder_harmsNobody() {
        String name = newName();
        Grant earlier = granted(first(), name);
        release(first(), earlier);
        Grant present = granted(second(), name);

        assertThat(release(first(), earlier)).isEqualTo(ReleaseResult.NOT_HELD);

        driver(first(), name).assertBusy();
        assertHeld(second(), present);
    }

    @Test
    @DisplayName("by somebody who knows everything but the owner says that it was not held, and harms nobody")
    void release_byStranger_harmsNobody() {
        String name = newName();
        Grant grant = granted(first(), name);
        Grant forged = new Grant(
                new AcquisitionId(name, OwnerId.random()), grant.token(), grant.leaseMillis(), grant.handle());

        assertThat(release(first(), forged)).isEqualTo(ReleaseResult.NOT_HELD);

        driver(second(), name).assertBusy();
        assertHeld(first(), grant);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("after expiry says that it was not held")
    void release_expired_notHeld() throws Exception {
        String name = newName();
        Grant grant = granted(first(), name);
        fixture().expire(name);

        assertThat(release(first(), grant)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("after expiry leaves the successor alone")
    void release_expired_harmsNobody() throws Exception {
        String name = newName();
        Grant expired = granted(first(), name);
        fixture().expire(name);
        Grant successor = driver(second(), name).await(PATIENCE);

        assertThat(release(first(), expired)).isEqualTo(ReleaseResult.NOT_HELD);

        driver(first(), name).assertBusy();
        assertHeld(second(), successor);
    }

    @TestIf(Need.LAPSE)
    @DisplayName("after the lease has passed says that it was not held")
    void release_lapsed_notHeld() {
        String name = newName();
        Grant lapsed = driver(first(), name, shortLeaseMillis()).acquire();
        Grant next = driver(second(), name).await(PATIENCE.plus(Duration.ofMillis(lapsed.leaseMillis())));

        assertThat(release(first(), lapsed)).isEqualTo(ReleaseResult.NOT_HELD);
        assertHeld(second(), next);
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("leaves nothing on the server")
    void release_leavesNothing() {
        String name = newName();
        Grant grant = granted(first(), name);

        release(first(), grant);

        assertEntries(name, 0);
    }

    @Test
    @DisplayName("of one lock leaves the owner's other locks held")
    void release_one_leavesOthers() {
        Grant one = granted(first(), newName());
        Grant other = granted(first(), newName());

        release(first(), one);

        driver(second(), other.acquisition().name()).assertBusy();
        assertHeld(first(), other);
    }
}
