package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.NastyNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendNamesContract extends BackendGroup {

    public BackendNamesContract(ContractContext context) {
        super(context);
    }

    /**
     * All at once: while every name is held, each is granted once, refused to others, confirmed, reported and released by
     * itself. Two names that the store confuses show in at least one of these.
     */
    @Test
    @DisplayName(
            "never interacts with another one, however near: separators, case, spaces, encodings, Unicode, 512 bytes")
    void names_nasty_neverInteract() {
        List<String> names = NastyNames.all();
        List<Grant> grants = new ArrayList<>();
        for (String name : names) {
            BackendDriver holder = BackendDriver.of(first(), name, LONG_LEASE_MILLIS);
            AcquireResult result = holder.tryAcquire(0);
            assertThat(result)
                    .as("attempt on %s, while %d other names are held", NastyNames.visible(name), grants.size())
                    .isInstanceOf(AcquireResult.Granted.class);
            grants.add(((AcquireResult.Granted) result).grant());
        }
        for (int i = 0; i < names.size(); i++) {
            BackendDriver other = BackendDriver.of(second(), names.get(i));
            assertThat(other.tryAcquire(0))
                    .as("attempt on %s, which is held", NastyNames.visible(names.get(i)))
                    .isInstanceOf(AcquireResult.Busy.class);
            assertHolderToken(
                    NastyNames.visible(names.get(i)),
                    BackendDriver.holder(second(), names.get(i)),
                    grants.get(i).token());
        }
        assertAllRenewed(grants);
        for (int i = 0; i < names.size(); i++) {
            assertThat(release(first(), grants.get(i)))
                    .as("release of %s, after %d others", NastyNames.visible(names.get(i)), i)
                    .isEqualTo(ReleaseResult.RELEASED);
            if (i % 50 == 0 && i + 1 < names.size()) {
                assertAllRenewed(grants.subList(i + 1, names.size()));
            }
        }
    }

    private void assertAllRenewed(List<Grant> grants) {
        List<RenewResult> results = renew(first(), grants);
        for (int i = 0; i < grants.size(); i++) {
            assertThat(results.get(i))
                    .as(
                            "renewal of %s",
                            NastyNames.visible(grants.get(i).acquisition().name()))
                    .isInstanceOf(RenewResult.Renewed.class);
        }
    }

    @Test
    @DisplayName("never interacts with a random one that differs from it as little as possible")
    void names_randomPairs_neverInteract() {
        long seed =
                Long.getLong("holdfast.names.seed", ThreadLocalRandom.current().nextLong());
        Random random = new Random(seed);
        for (int i = 0; i < fixture().namePairs(); i++) {
            NastyNames.Pair pair = NastyNames.randomPair(random);
            String what = String.format(
                    "%s and %s (pair %d of -Dholdfast.names.seed=%d)",
                    NastyNames.visible(pair.one()), NastyNames.visible(pair.other()), i, seed);
            BackendDriver one = BackendDriver.of(first(), pair.one());
            BackendDriver other = BackendDriver.of(second(), pair.other());
            AcquireResult ofOne = one.tryAcquire(0);
            AcquireResult ofOther = other.tryAcquire(0);
            assertThat(ofOne).as("first grant of " + what).isInstanceOf(AcquireResult.Granted.class);
            assertThat(ofOther).as("second grant of " + what).isInstanceOf(AcquireResult.Granted.class);
            assertThat(release(second(), ((AcquireResult.Granted) ofOther).grant()))
                    .as("release of the second of " + what)
                    .isEqualTo(ReleaseResult.RELEASED);
            assertThat(release(first(), ((AcquireResult.Granted) ofOne).grant()))
                    .as("release of the first of " + what)
                    .isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("shows no entries of a near one")
    void names_entries_ofOwnOnly() {
        String name = newName();
        granted(first(), name);

        assertEntries(name + "/a", 0);
        assertEntries(name.toUpperCase(Locale.ROOT), 0);
        assertEntries(name.substring(0, name.length() - 1), 0);
    }
}
