package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.Demand.EXCLUSIVE;
import static dev.holdfast.lock.Demand.SHARED;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.changeLimit;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.DisplayName;

/** Permits of a name, on a backend whose demands have them. */
public abstract class BackendPermitsContract extends BackendGroup {

    public BackendPermitsContract(ContractContext context) {
        super(context);
    }

    private static Demand permits(int permits, int limit) {
        return new Demand.Permits(permits, limit);
    }

    private static void assertOtherLimit(AcquireResult result, int stored) {
        assertThat(result).as("answer to a request with another limit").isEqualTo(new AcquireResult.OtherLimit(stored));
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is granted up to the limit, and again when one is released")
    void permits_upToLimit_granted() {
        String name = newName();
        Grant one = granted(first(), name, permits(1, 2));
        Grant two = granted(second(), name, permits(1, 2));
        BackendDriver third = driver(first(), name, permits(1, 2));
        third.assertBusy();

        assertThat(release(second(), two)).isEqualTo(ReleaseResult.RELEASED);

        assertThat(third.await(PATIENCE).token()).isGreaterThan(two.token()).isGreaterThan(one.token());
        assertHeld(first(), one);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("counts by its weight: together no more than the limit")
    void permits_areAddedUp() {
        String name = newName();
        Grant two = granted(first(), name, permits(2, 5));
        granted(second(), name, permits(2, 5));
        driver(first(), name, permits(2, 5)).assertBusy();
        granted(first(), name, permits(1, 5));
        driver(second(), name, permits(1, 5)).assertBusy();

        release(first(), two);

        driver(second(), name, permits(2, 5)).await(PATIENCE);
        driver(second(), name, permits(1, 5)).assertBusy();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("has the lowest slot that nobody has, one for each holder")
    void slots_areTheLowestFree() {
        String name = newName();
        Grant many = granted(first(), name, permits(3, 6));
        Grant two = granted(second(), name, permits(1, 6));
        Grant three = granted(first(), name, permits(1, 6));
        assertThat(List.of(many.slot(), two.slot(), three.slot())).containsExactly(1, 2, 3);

        release(second(), two);
        Grant again = driver(first(), name, permits(1, 6)).await(PATIENCE);
        Grant four = granted(second(), name, permits(1, 6));

        assertThat(again.slot()).as("the slot that was free").isEqualTo(2);
        assertThat(again.token()).as("token within the slot").isGreaterThan(two.token());
        assertThat(four.slot()).isEqualTo(4);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is granted again to the same acquisition, with the same token and slot, and counts once")
    void permits_asksAgain_sameGrant() {
        String name = newName();
        granted(first(), name, permits(1, 3));
        BackendDriver driver = driver(second(), name, permits(1, 3));
        Grant grant = driver.acquire();

        Grant repeated = driver.acquire();

        assertThat(repeated.token()).isEqualTo(grant.token());
        assertThat(repeated.slot()).isEqualTo(grant.slot()).isEqualTo(2);
        granted(first(), name, permits(1, 3));
    }

    @TestIf(Need.PERMITS)
    @DisplayName("comes back once, however often it is released or abandoned")
    void permits_releasedTwice_comeBackOnce() {
        String name = newName();
        granted(first(), name, permits(1, 2));
        BackendDriver driver = driver(second(), name, permits(1, 2));
        Grant grant = driver.acquire();

        assertThat(release(second(), grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(release(second(), grant)).isEqualTo(ReleaseResult.NOT_HELD);
        driver.abandon();
        driver.abandon();

        Grant next = driver(first(), name, permits(1, 2)).await(PATIENCE);
        driver(second(), name, permits(1, 2)).assertBusy();
        assertThat(release(second(), grant))
                .as("a release after the next grant")
                .isEqualTo(ReleaseResult.NOT_HELD);
        driver(second(), name, permits(1, 2)).assertBusy();
        assertHeld(first(), next);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is refused with another limit than the first one, which the answer says, and nothing is left of it")
    void limit_other_isTold() {
        String name = newName();
        Grant grant = granted(first(), name, permits(1, 3));

        BackendDriver other = driver(second(), name, permits(1, 4));
        assertOtherLimit(other.tryAcquire(0), 3);
        assertOtherLimit(other.tryAcquire(BackendDriver.WAIT_MILLIS), 3);
        assertOtherLimit(driver(first(), name, permits(2, 2)).tryAcquire(0), 3);

        granted(second(), name, permits(2, 3));
        release(first(), grant);
        driver(first(), name, permits(1, 3)).await(PATIENCE);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("keeps its limit when nobody uses it")
    void limit_idle_isKept() {
        String name = newName();
        release(first(), granted(first(), name, permits(1, 3)));

        assertOtherLimit(driver(second(), name, permits(1, 2)).tryAcquire(0), 3);
        granted(second(), name, permits(3, 3));
    }

    @TestIf(Need.PERMITS)
    @DisplayName("gets a higher limit on purpose: more are granted, and the old limit is refused")
    void limit_raised() {
        String name = newName();
        BackendDriver before = driver(first(), name, permits(1, 1));
        Grant held = before.acquire();
        BackendDriver waits = driver(second(), name, permits(1, 1));
        waits.queueUp();

        assertThat(changeLimit(second(), name, 1, 3)).isEqualTo(3);
        assertThat(changeLimit(second(), name, 1, 3))
                .as("the same change again")
                .isEqualTo(3);

        assertOtherLimit(waits.tryAcquire(BackendDriver.WAIT_MILLIS), 3);
        assertHeld(first(), held);
        assertThat(before.acquire().token())
                .as("the repetition of what is granted")
                .isEqualTo(held.token());
        assertThat(granted(second(), name, permits(2, 3)).slot()).isEqualTo(2);
        driver(first(), name, permits(1, 3)).assertBusy();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("gets a lower limit on purpose: what is held stays, the next one waits until the sum is below it")
    void limit_lowered() {
        String name = newName();
        Grant one = granted(first(), name, permits(1, 3));
        Grant two = granted(first(), name, permits(1, 3));
        Grant three = granted(second(), name, permits(1, 3));

        assertThat(changeLimit(first(), name, 3, 2)).isEqualTo(2);

        BackendDriver next = driver(second(), name, permits(1, 2));
        next.assertBusy();
        release(first(), one);
        next.assertBusy();
        release(first(), two);
        assertThat(next.await(PATIENCE).slot())
                .as("a slot within the lower limit")
                .isBetween(1, 2);
        assertHeld(second(), three);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("keeps a limit that is to be changed from another one, and answers it")
    void limit_notTheExpectedOne_isKept() {
        String name = newName();
        granted(first(), name, permits(1, 3));

        assertThat(changeLimit(second(), name, 5, 6)).isEqualTo(3);

        granted(second(), name, permits(2, 3));
    }

    @TestIf(Need.PERMITS)
    @DisplayName("gets the new limit if there was none")
    void limit_unused_isSet() {
        String name = newName();

        assertThat(changeLimit(first(), name, 5, 2)).isEqualTo(2);

        assertOtherLimit(driver(second(), name, permits(1, 5)).tryAcquire(0), 2);
        granted(second(), name, permits(2, 2));
    }

    @TestIf({Need.PERMITS, Need.LAPSE})
    @DisplayName("of a holder that died comes back with its lease")
    void permits_holderDies_comeBack() {
        String name = newName();
        Grant dead =
                driver(first(), name, permits(2, 3), 3 * shortLeaseMillis()).acquire();
        Grant alive = granted(second(), name, permits(1, 3));
        BackendDriver waits = driver(second(), name, permits(2, 3));
        waits.queueUp();

        Grant next = waits.await(PATIENCE);

        assertThat(next.slot()).as("the slot of the dead holder").isEqualTo(dead.slot());
        assertThat(next.token()).isGreaterThan(dead.token());
        assertHeld(second(), alive);
        assertLost(BackendDriver.renew(first(), dead), "of permits whose lease has ended");
    }

    @TestIf({Need.PERMITS, Need.FIFO})
    @DisplayName("for one who asks for many is not passed by those who ask for few")
    void many_notPassedByFew() {
        String name = newName();
        Grant three = granted(first(), name, permits(3, 5));
        BackendDriver many = driver(second(), name, permits(4, 5));
        many.queueUp();
        BackendDriver few = driver(first(), name, permits(1, 5));
        few.queueUp();
        driver(second(), name, permits(1, 5)).assertBusy();

        release(first(), three);

        few.await(PATIENCE); // there is room for both
        many.await(PATIENCE);
        driver(first(), name, permits(1, 5)).assertBusy();
    }

    @TestIf({Need.PERMITS, Need.FIFO})
    @DisplayName("stands in one line with locks and shares of the name, which it excludes")
    void kinds_inOneLine() {
        String name = newName();
        Grant permit = granted(first(), name, permits(1, 3));
        BackendDriver lock = driver(second(), name, EXCLUSIVE);
        lock.queueUp();
        BackendDriver behind = driver(first(), name, permits(1, 3));
        behind.queueUp();

        release(first(), permit);
        Grant locked = lock.await(PATIENCE);
        behind.queueUp();
        release(second(), locked);

        behind.await(PATIENCE);
        driver(second(), name, EXCLUSIVE).assertBusy();
    }

    @TestIf({Need.PERMITS, Need.SHARED})
    @DisplayName("is not granted beside a share, nor a share beside it")
    void shares_areApart() {
        String name = newName();
        Grant share = granted(first(), name, SHARED);
        driver(second(), name, permits(1, 3)).assertBusy();
        release(first(), share);
        driver(second(), name, permits(1, 3)).await(PATIENCE);

        driver(first(), name, SHARED).assertBusy();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is not granted beside a lock, nor a lock beside it")
    void locks_areApart() {
        String name = newName();
        Grant locked = granted(first(), name);
        driver(second(), name, permits(1, 3)).assertBusy();
        release(first(), locked);
        Grant permit = driver(second(), name, permits(1, 3)).await(PATIENCE);

        driver(first(), name, EXCLUSIVE).assertBusy();
        assertThat(permit.token()).isGreaterThan(locked.token());
    }

    @TestIf({Need.PERMITS, Need.PROMPT_SIGNAL})
    @DisplayName("calls all waiters for whom there is room")
    void signal_release_callsAllWithRoom() throws Exception {
        String name = newName();
        Grant all = granted(first(), name, permits(3, 3));
        BackendDriver one = driver(second(), name, permits(1, 3));
        BackendDriver two = driver(first(), name, permits(2, 3));
        one.queueUp();
        two.queueUp();
        List<Semaphore> calls = List.of(calls(one), calls(two));

        release(first(), all);

        for (Semaphore call : calls) {
            assertCalled(call, "after the release of as many permits as both ask for");
        }
    }

    @TestIf({Need.PERMITS, Need.PROMPT_SIGNAL})
    @DisplayName("calls the waiters when the limit is changed")
    void signal_limit_callsWaiters() throws Exception {
        String name = newName();
        granted(first(), name, permits(1, 1));
        BackendDriver waits = driver(second(), name, permits(1, 1));
        waits.queueUp();
        Semaphore calls = calls(waits);

        changeLimit(first(), name, 1, 2);

        assertCalled(calls, "after the limit was changed");
    }

    @TestIf({Need.PERMITS, Need.PROMPT_SIGNAL})
    @DisplayName("calls a waiter that begins to listen after the limit was changed")
    void signal_limitBeforeTheSubscription_callsTheWaiter() throws Exception {
        String name = newName();
        granted(first(), name, permits(1, 1));
        BackendDriver waits = driver(second(), name, permits(1, 1));
        waits.queueUp();

        changeLimit(first(), name, 1, 2);

        assertCalled(calls(waits), "although the limit was changed before it listened");
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is renewed with others in one call, each by itself")
    void renew_many_eachByItself() {
        String name = newName();
        Grant one = granted(first(), name, permits(1, 3));
        Grant gone = granted(first(), name, permits(1, 3));
        release(first(), gone);

        List<RenewResult> results = BackendDriver.renew(first(), List.of(gone, one));

        assertLost(results.get(0), "of the permit that was released");
        assertThat(results.get(1)).isInstanceOf(RenewResult.Renewed.class);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is told with its holder: how many, of which limit, in which slot")
    void holders_ofPermits_areAll() {
        String name = newName();
        Grant two = granted(first(), name, permits(2, 3));
        Grant one = granted(second(), name, permits(1, 3));

        assertThat(BackendDriver.holders(second(), name))
                .extracting(HolderInfo::token, HolderInfo::demand, HolderInfo::slot)
                .containsExactly(
                        Tuple.tuple(two.token(), permits(2, 3), 1), Tuple.tuple(one.token(), permits(1, 3), 2));
    }

    @TestIf({Need.PERMITS, Need.ENTRIES})
    @DisplayName("leaves nothing but the limit: granted and released, refused, queued and abandoned")
    void permits_leaveNothing() {
        String name = newName();
        Grant held = granted(first(), name, permits(2, 2));
        driver(second(), name, permits(1, 2)).assertBusy();
        driver(second(), name, permits(1, 3)).tryAcquire(BackendDriver.WAIT_MILLIS);
        BackendDriver waits = driver(second(), name, permits(1, 2));
        waits.queueUp();
        waits.abandon();
        release(first(), held);

        assertEntries(name, 0);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is never granted beyond the limit, nor a slot twice, whoever asks when")
    void permits_underLoad_withinLimit() throws Exception {
        String name = newName();
        DemandsUnderLoad load = new DemandsUnderLoad(List.of(first(), second()), name, 3);

        load.run(random -> permits(1 + random.nextInt(2), 3));

        assertThat(load.violations()).as("grants beyond the limit").isEmpty();
        assertThat(load.tokens()).as("tokens").doesNotHaveDuplicates();
        await().atMost(PATIENCE)
                .until(() -> BackendDriver.holders(first(), name).isEmpty());
    }
}
