package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendRenewalsContract extends BackendGroup {
    private static final int MANY = 100;

    public BackendRenewalsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("of a held grant confirms a lease no longer than the full one")
    void renew_held_renewed() {
        Grant grant = granted(first(), newName());

        RenewResult result = renew(first(), grant);

        assertThat(result).isInstanceOf(RenewResult.Renewed.class);
        assertThat(((RenewResult.Renewed) result).leaseMillis()).isBetween(1L, BackendDriver.LEASE_MILLIS);
    }

    @Test
    @DisplayName("of many grants at once confirms each")
    void renew_many_allRenewed() {
        List<Grant> grants = new ArrayList<>();
        String prefix = newName();
        for (int i = 0; i < MANY; i++) {
            grants.add(BackendDriver.of(first(), prefix + "-" + i, LONG_LEASE_MILLIS)
                    .acquire());
        }

        assertThat(renew(first(), grants)).hasOnlyElementsOfType(RenewResult.Renewed.class);

        grants.forEach(grant -> release(first(), grant));
    }

    @Test
    @DisplayName("of held and ended grants in one batch answers in the order of the grants")
    void renew_mixed_answersInOrder() {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            grants.add(granted(first(), newName()));
        }
        List<Boolean> held = List.of(true, false, false, true, true, false, true, false, true);
        for (int i = 0; i < 9; i++) {
            if (!held.get(i)) {
                release(first(), grants.get(i));
            }
        }

        List<RenewResult> results = renew(first(), grants);

        assertThat(results.stream().map(RenewResult.Renewed.class::isInstance)).containsExactlyElementsOf(held);
        assertThat(results).noneMatch(RenewResult.Unknown.class::isInstance);
    }

    @Test
    @DisplayName("of a released grant says that it is lost")
    void renew_released_lost() {
        String name = newName();
        Grant grant = granted(first(), name);
        release(first(), grant);

        assertLost(renew(first(), grant), "after release");

        driver(second(), name).acquire();
    }

    @Test
    @DisplayName("by an earlier holder says that it is lost, and leaves the present one alone")
    void renew_byEarlierHolder_harmsNobody() {
        String name = newName();
        Grant earlier = granted(first(), name);
        release(first(), earlier);
        Grant present = granted(second(), name);

        assertLost(renew(first(), earlier), "by an earlier holder");

        assertHeld(second(), present);
    }

    @Test
    @DisplayName("by somebody who knows everything but the owner says that it is lost")
    void renew_byStranger_lost() {
        String name = newName();
        Grant grant = granted(first(), name);
        Grant forged = new Grant(
                new AcquisitionId(name, OwnerId.random()), grant.token(), grant.leaseMillis(), grant.handle());

        assertLost(renew(first(), forged), "by a stranger");

        assertHeld(first(), grant);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("after expiry says that it is lost, and brings nothing back")
    void renew_expired_lost() throws Exception {
        String name = newName();
        Grant expired = granted(first(), name);
        fixture().expire(name);

        assertLost(renew(first(), expired), "after expiry");

        Grant successor = driver(second(), name).await(PATIENCE);
        assertLost(renew(first(), expired), "after expiry, with a successor");
        assertHeld(second(), successor);
    }

    @TestIf({Need.EXPIRE, Need.ENTRIES})
    @DisplayName("after expiry leaves nothing on the server")
    void renew_expired_leavesNothing() throws Exception {
        String name = newName();
        Grant expired = granted(first(), name);
        fixture().expire(name);

        renew(first(), expired);

        assertEntries(name, 0);
    }

    @TestIf(Need.LAPSE)
    @DisplayName("after the lease has passed says that it is lost")
    void renew_lapsed_lost() {
        String name = newName();
        Grant lapsed = driver(first(), name, shortLeaseMillis()).acquire();
        Grant next = driver(second(), name).await(PATIENCE.plus(Duration.ofMillis(lapsed.leaseMillis())));

        assertLost(renew(first(), lapsed), "after the lease has passed");
        assertHeld(second(), next);
    }

    @TestIf(Need.LAPSE)
    @DisplayName("keeps all locks of a batch beyond their first leases, and their tokens")
    void renew_repeatedly_outlivesLeases() {
        for (int tries = 1; tries <= 4; tries++) {
            if (keptForTwoLeases(tries * shortLeaseMillis())) {
                return;
            }
        }
        throw new AssertionError("this machine is too busy: it stood still for most of a lease of up to "
                + fixture().shortLease().multipliedBy(4) + ", four times");
    }

    /** Returns false if this process was held up until the lease may rightly have ended. */
    private boolean keptForTwoLeases(long leaseMillis) {
        long startNanos = System.nanoTime();
        List<BackendDriver> holders = new ArrayList<>();
        List<BackendDriver> others = new ArrayList<>();
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            String name = newName();
            holders.add(driver(first(), name, leaseMillis));
            others.add(driver(second(), name));
            grants.add(holders.get(i).acquire());
        }
        long confirmedFromNanos = startNanos;
        while (System.nanoTime() - startNanos < TimeUnit.MILLISECONDS.toNanos(2 * leaseMillis)) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(leaseMillis / 4));
            long sentNanos = System.nanoTime();
            List<RenewResult> renewed = renew(first(), grants);
            List<AcquireResult> results = others.stream().map(other -> other.send(0)).toList().stream()
                    .map(BackendDriver::answer)
                    .toList();
            if (System.nanoTime() - confirmedFromNanos > TimeUnit.MILLISECONDS.toNanos(leaseMillis * 8 / 10)) {
                holders.forEach(BackendDriver::abandon);
                others.forEach(BackendDriver::abandon);
                return false;
            }
            assertThat(renewed).as("renewals within the lease").hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(results)
                    .as("attempts of others within the renewed leases")
                    .hasOnlyElementsOfType(AcquireResult.Busy.class);
            confirmedFromNanos = sentNanos;
        }
        for (int i = 0; i < 3; i++) {
            assertGrantedToken(
                    "token after renewals",
                    holders.get(i).acquire().token(),
                    grants.get(i).token());
        }
        return true;
    }

    @TestIf(Need.LAPSE)
    @DisplayName("lets the lease end once it stops")
    void renew_stopped_ends() {
        String name = newName();
        Grant grant = driver(first(), name, shortLeaseMillis()).acquire();
        renew(first(), grant);
        renew(first(), grant);

        Grant next = driver(second(), name).await(PATIENCE.plus(fixture().shortLease()));

        assertThat(next.token()).isGreaterThan(grant.token());
    }
}
