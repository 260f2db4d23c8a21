package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.Demand.EXCLUSIVE;
import static dev.holdfast.lock.Demand.SHARED;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import org.junit.jupiter.api.Test;

/** Readers and writers of one name, on a backend whose demands have shares. */
public abstract class BackendSharesContract extends BackendGroup {

    public BackendSharesContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("is announced by the backend as by its fixture, like every demand")
    void demands_areAsTheFixtureSays() {
        assertThat(first().info().demands())
                .as("demands of the backend")
                .isEqualTo(fixture().demands());
    }

    @TestIf(Need.SHARED)
    @DisplayName("is granted to many at once, each with a token above all before, and no slot")
    void readers_atOnce_granted() {
        String name = newName();
        Grant one = granted(first(), name, SHARED);
        Grant two = granted(second(), name, SHARED);
        Grant three = granted(first(), name, SHARED);

        assertThat(List.of(one.token(), two.token(), three.token())).isSorted().doesNotHaveDuplicates();
        assertThat(List.of(one.slot(), two.slot(), three.slot())).containsOnly(0);
        assertHeld(first(), one);
        assertHeld(second(), two);
        assertHeld(first(), three);
    }

    @TestIf(Need.SHARED)
    @DisplayName("keeps a writer out until the last of them is released")
    void writer_besideReaders_busy() {
        String name = newName();
        Grant one = granted(first(), name, SHARED);
        Grant two = granted(second(), name, SHARED);
        BackendDriver writer = driver(first(), name);
        writer.assertBusy();

        assertThat(release(first(), one)).isEqualTo(ReleaseResult.RELEASED);
        writer.assertBusy();
        assertHeld(second(), two);
        assertThat(release(second(), two)).isEqualTo(ReleaseResult.RELEASED);

        assertThat(writer.await(PATIENCE).token()).as("the writer's token").isGreaterThan(two.token());
    }

    @TestIf(Need.SHARED)
    @DisplayName("is not granted beside a writer, and with a token above the writer's after it")
    void reader_besideWriter_busy() {
        String name = newName();
        Grant written = granted(first(), name);
        BackendDriver reader = driver(second(), name, SHARED);
        reader.assertBusy();

        release(first(), written);

        assertThat(reader.await(PATIENCE).token()).isGreaterThan(written.token());
    }

    @TestIf(Need.SHARED)
    @DisplayName("is granted again to the same acquisition, with the same token, as if the reply had been lost")
    void reader_asksAgain_sameGrant() {
        String name = newName();
        granted(first(), name, SHARED);
        BackendDriver reader = driver(second(), name, SHARED);
        Grant grant = reader.acquire();

        assertThat(reader.acquire().token()).isEqualTo(grant.token());
        assertThat(release(second(), grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(release(second(), grant)).as("the second release").isEqualTo(ReleaseResult.NOT_HELD);
    }

    @TestIf(Need.SHARED)
    @DisplayName("ends by itself alone: released or abandoned, the others stay")
    void reader_ends_othersStay() {
        String name = newName();
        Grant stays = granted(first(), name, SHARED);
        BackendDriver leaves = driver(second(), name, SHARED);
        leaves.acquire();
        Grant released = granted(second(), name, SHARED);

        leaves.abandon();
        leaves.abandon();
        release(second(), released);

        assertHeld(first(), stays);
        driver(second(), name).assertBusy();
        assertLost(BackendDriver.renew(second(), released), "of a share that was released");
    }

    @TestIf(Need.SHARED)
    @DisplayName("is renewed with others and with locks of all kinds in one call, each by itself")
    void renew_many_eachByItself() {
        String name = newName();
        Grant one = granted(first(), name, SHARED);
        Grant gone = granted(first(), name, SHARED);
        Grant other = granted(first(), newName());
        release(first(), gone);

        List<RenewResult> results = BackendDriver.renew(first(), List.of(one, gone, other));

        assertThat(results.get(0)).isInstanceOf(RenewResult.Renewed.class);
        assertLost(results.get(1), "of the share that was released");
        assertThat(results.get(2)).isInstanceOf(RenewResult.Renewed.class);
    }

    @TestIf({Need.SHARED, Need.LAPSE})
    @DisplayName("of a reader that died ends with its lease, while that of another one goes on")
    void reader_dies_writerComesAfterTheOther() {
        String name = newName();
        driver(first(), name, SHARED, shortLeaseMillis()).acquire();
        Grant alive = granted(second(), name, SHARED);
        await().atMost(PATIENCE)
                .until(() -> BackendDriver.holders(second(), name).size() == 1);
        assertHeld(second(), alive);
        BackendDriver writer = driver(first(), name);
        writer.assertBusy();

        release(second(), alive);

        assertThat(writer.await(PATIENCE).token()).isGreaterThan(alive.token());
    }

    @TestIf({Need.SHARED, Need.LAPSE})
    @DisplayName("is granted to all who wait once the lease of a writer that died has ended")
    void writer_dies_readersComeIn() {
        String name = newName();
        Grant written = driver(first(), name, EXCLUSIVE, 3 * shortLeaseMillis()).acquire();
        BackendDriver one = driver(second(), name, SHARED);
        BackendDriver two = driver(second(), name, SHARED);
        one.queueUp();
        two.queueUp();

        assertThat(one.await(PATIENCE).token()).isGreaterThan(written.token());
        assertThat(two.await(PATIENCE).token()).isGreaterThan(written.token());
    }

    @TestIf({Need.SHARED, Need.FIFO})
    @DisplayName("is not granted past a writer that waits, even to one that asks once")
    void reader_behindWaitingWriter_busy() {
        String name = newName();
        Grant held = granted(first(), name, SHARED);
        BackendDriver writer = driver(second(), name);
        writer.queueUp();
        BackendDriver late = driver(first(), name, SHARED);
        late.queueUp();
        driver(first(), name, SHARED).assertBusy();

        release(first(), held);
        Grant written = writer.await(PATIENCE);
        late.queueUp();
        release(second(), written);

        assertThat(late.await(PATIENCE).token()).isGreaterThan(written.token());
    }

    @TestIf({Need.SHARED, Need.FIFO})
    @DisplayName("is granted together to all readers behind a writer, but not past the next writer")
    void readers_betweenWriters_together() {
        String name = newName();
        Grant held = granted(first(), name);
        BackendDriver one = driver(second(), name, SHARED);
        BackendDriver two = driver(first(), name, SHARED);
        BackendDriver writer = driver(second(), name);
        BackendDriver three = driver(first(), name, SHARED);
        List.of(one, two, writer, three).forEach(BackendDriver::queueUp);

        release(first(), held);
        Grant second = two.await(PATIENCE); // before the one ahead of it
        Grant first = one.await(PATIENCE);
        writer.queueUp();
        three.queueUp();
        release(second(), first);
        three.queueUp();
        release(first(), second);
        Grant written = writer.await(PATIENCE);
        three.queueUp();
        release(second(), written);

        three.await(PATIENCE);
    }

    @TestIf({Need.SHARED, Need.FIFO})
    @DisplayName("is granted to those behind a writer once that gives up")
    void writer_givesUp_readersBehindComeIn() {
        String name = newName();
        Grant held = granted(first(), name, SHARED);
        BackendDriver writer = driver(second(), name);
        writer.queueUp();
        BackendDriver behind = driver(first(), name, SHARED);
        behind.queueUp();

        writer.abandon();

        behind.await(PATIENCE);
        assertHeld(first(), held);
    }

    @TestIf({Need.SHARED, Need.ENTRIES})
    @DisplayName("leaves nothing behind: granted and released, refused, queued and abandoned")
    void shares_leaveNothing() {
        String name = newName();
        Grant held = granted(first(), name, SHARED);
        driver(second(), name).assertBusy();
        BackendDriver waits = driver(second(), name);
        waits.queueUp();
        waits.abandon();
        release(first(), held);

        assertEntries(name, 0);
    }

    @TestIf({Need.SHARED, Need.PROMPT_SIGNAL})
    @DisplayName("calls the writer that waits when the last of them is released")
    void signal_lastReader_callsWriter() throws Exception {
        String name = newName();
        Grant one = granted(first(), name, SHARED);
        Grant two = granted(first(), name, SHARED);
        BackendDriver writer = driver(second(), name);
        writer.queueUp();
        release(first(), one);
        writer.queueUp();
        Semaphore calls = calls(writer);
        writer.queueUp();
        release(first(), two);

        assertCalled(calls, "after the last reader's release");
        writer.await(PATIENCE);
    }

    @TestIf({Need.SHARED, Need.PROMPT_SIGNAL})
    @DisplayName("calls all readers that wait when the writer is released")
    void signal_writer_callsAllReaders() throws Exception {
        String name = newName();
        Grant written = granted(first(), name);
        BackendDriver one = driver(second(), name, SHARED);
        BackendDriver two = driver(second(), name, SHARED);
        BackendDriver three = driver(first(), name, SHARED);
        List.of(one, two, three).forEach(BackendDriver::queueUp);
        List<Semaphore> calls = List.of(calls(one), calls(two), calls(three));

        release(first(), written);

        for (Semaphore call : calls) {
            assertCalled(call, "after the writer's release, however many readers are ahead of it");
        }
    }

    @TestIf({Need.SHARED, Need.FIFO, Need.PROMPT_SIGNAL})
    @DisplayName("calls the reader behind a writer when that gives up")
    void signal_writerLeaves_callsReader() throws Exception {
        String name = newName();
        granted(first(), name, SHARED);
        BackendDriver writer = driver(second(), name);
        writer.queueUp();
        BackendDriver reader = driver(first(), name, SHARED);
        reader.queueUp();
        Semaphore calls = calls(reader);

        writer.abandon();

        assertCalled(calls, "after the writer ahead of it has left");
    }

    @TestIf(Need.SHARED)
    @DisplayName("is told with what each holder has, the lowest token first")
    void holders_ofShares_areAll() {
        String name = newName();
        assertThat(BackendDriver.holders(first(), name)).isEmpty();
        Grant one = granted(first(), name, SHARED);
        Grant two = granted(second(), name, SHARED);

        List<HolderInfo> holders = BackendDriver.holders(first(), name);

        assertThat(holders).extracting(HolderInfo::token).containsExactly(one.token(), two.token());
        assertThat(holders).extracting(HolderInfo::demand).containsOnly(SHARED);
        assertThat(holders).extracting(HolderInfo::pid).containsOnly(BackendDriver.IDENTITY.pid());
        assertThat(BackendDriver.holder(second(), name)).as("holder()").contains(holders.get(0));
        release(first(), one);
        release(second(), two);
        Grant written = driver(first(), name).await(PATIENCE);
        if (fixture().listsAtOnce()) {
            assertHeldBy(written, name);
        } else {
            await().atMost(PATIENCE).untilAsserted(() -> assertHeldBy(written, name));
        }
    }

    private void assertHeldBy(Grant writer, String name) {
        assertThat(BackendDriver.holders(second(), name))
                .extracting(HolderInfo::token, HolderInfo::demand)
                .containsExactly(Tuple.tuple(writer.token(), EXCLUSIVE));
    }

    @TestIf(Need.SHARED)
    @DisplayName("is never granted beside a writer, whoever asks when")
    void shares_underLoad_noWriterBesideAnybody() throws Exception {
        String name = newName();
        DemandsUnderLoad load = new DemandsUnderLoad(List.of(first(), second()), name, 1);

        load.run(random -> random.nextInt(3) == 0 ? EXCLUSIVE : SHARED);

        assertThat(load.violations()).as("grants beside others").isEmpty();
        assertThat(load.tokens()).as("tokens").doesNotHaveDuplicates();
    }

    @TestIf(Need.SHARED)
    @DisplayName("is a lock's own: readers of two names do not meet")
    void names_areApart() {
        granted(first(), newName(), SHARED);

        assertThat(driver(second(), newName()).tryAcquire(0)).isInstanceOf(AcquireResult.Granted.class);
    }
}
