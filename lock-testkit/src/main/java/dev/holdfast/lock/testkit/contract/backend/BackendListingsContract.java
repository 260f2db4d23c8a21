package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import org.junit.jupiter.api.DisplayName;

public abstract class BackendListingsContract extends BackendGroup {

    public BackendListingsContract(ContractContext context) {
        super(context);
    }

    @TestIf(Need.LISTING)
    @DisplayName("has what is held, with its holder, by name, and nothing that was released")
    void list_heldAndReleased_heldOnly() {
        String prefix = newName() + "/Ü %*?[a]{b}_/";
        Grant second = granted(first(), prefix + "b");
        granted(first(), prefix + "a");
        release(first(), granted(first(), prefix + "c"));
        awaitListed(prefix, 2);

        LockListing page = list(prefix, 100);

        assertThat(page.locks()).extracting(ListedLock::name).containsExactly(prefix + "a", prefix + "b");
        assertThat(page.more()).as("more").isFalse();
        ListedLock listed = page.locks().get(1);
        assertHolderToken("listed", listed.holder(), second.token());
        assertThat(listed.holder().orElseThrow().pid()).as("process id").isEqualTo(BackendDriver.IDENTITY.pid());
        assertThat(listed.waiters()).as("waiters").isEmpty();
    }

    @TestIf(Need.LISTING)
    @DisplayName("has no more than was asked for, and says that there is more")
    void list_moreThanTheLimit_cut() {
        String prefix = newName() + "/";
        for (int i = 0; i < 4; i++) {
            granted(first(), prefix + i);
        }
        awaitListed(prefix, 4);

        LockListing page = list(prefix, 3);

        assertThat(page.locks()).as("locks").hasSize(3);
        assertThat(page.more()).as("more").isTrue();
        assertThat(list(prefix, 4)).extracting(LockListing::more).isEqualTo(false);
    }

    @TestIf(Need.LISTING)
    @DisplayName("has no lock of another prefix, not even of one that is encoded alike")
    void list_otherPrefix_left() {
        String name = newName();
        granted(first(), name + "%2Fa");
        granted(first(), name + "/b");
        granted(first(), name + ".");
        awaitListed(name, 3);

        assertThat(list(name + "/", 100).locks()).extracting(ListedLock::name).containsExactly(name + "/b");
        assertThat(list(name + "%2F", 100).locks()).extracting(ListedLock::name).containsExactly(name + "%2Fa");
        assertThat(list(name, 100).locks()).as("all of them").hasSize(3);
    }

    @TestIf(Need.LISTING)
    @DisplayName("has who waits, where the store serves them in order")
    void list_waiter_told() {
        String name = newName();
        granted(first(), name);
        driver(second(), name).queueUp();
        awaitListed(name, 1);

        ListedLock listed = list(name, 1).locks().get(0);

        assertThat(listed.holder()).as("holder").isPresent();
        assertThat(listed.waiters()).as("waiters").hasSize(second().info().fifo() ? 1 : 0);
    }

    private void awaitListed(String prefix, int locks) {
        if (!fixture().listsAtOnce()) {
            await().atMost(PATIENCE).until(() -> list(prefix, 100).locks().size() == locks);
        }
    }

    private LockListing list(String prefix, int limit) {
        return answer(second().list(prefix, limit, BackendDriver.TIMEOUT_MILLIS));
    }
}
