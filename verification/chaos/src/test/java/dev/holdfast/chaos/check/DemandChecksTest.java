package dev.holdfast.chaos.check;

import static dev.holdfast.chaos.check.Claims.call;
import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.evidence;
import static dev.holdfast.chaos.check.Claims.fault;
import static dev.holdfast.chaos.check.Claims.released;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.Demand;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The checks on locks that several may hold: each passes what is right and finds what is wrong. */
final class DemandChecksTest {

    private static Operation write(int client, long token, long invoked, long acquired, long confirmed) {
        return claim(client, OpKind.LOCK, token, invoked, acquired, confirmed);
    }

    private static Operation read(int client, long token, long invoked, long acquired, long confirmed) {
        Operation operation = claim(client, OpKind.LOCK, token, invoked, acquired, confirmed);
        operation.demand = Demand.SHARED;
        return operation;
    }

    private static Operation permits(
            int client, int permits, int slot, long token, long invoked, long acquired, long confirmed) {
        Operation operation = claim(client, OpKind.LOCK, token, invoked, acquired, confirmed);
        operation.demand = new Demand.Permits(permits, 5);
        operation.slot = slot;
        return operation;
    }

    private static Operation waiting(int client, Demand demand, long invoked) {
        Operation operation = call(client, OpKind.LOCK, invoked);
        operation.demand = demand;
        return operation;
    }

    private static List<String> found(Check check, Operation... operations) {
        return check.check(evidence(List.of(operations), List.of(), List.of())).violations();
    }

    @Test
    void overlap_readersTogether_butNotBesideAWriter() {
        assertThat(found(new OverlapCheck(), read(0, 1, 0, 1, 9), read(1, 2, 0, 2, 8), write(2, 3, 0, 10, 12)))
                .isEmpty();
        assertThat(found(new OverlapCheck(), read(0, 1, 0, 1, 9), write(1, 2, 0, 8, 12)))
                .as("a writer beside a reader")
                .hasSize(1);
        assertThat(found(new OverlapCheck(), write(0, 1, 0, 1, 9), read(1, 2, 0, 8, 12)))
                .as("a reader beside a writer")
                .hasSize(1);
        assertThat(found(new OverlapCheck(), read(0, 1, 0, 1, 20), read(1, 2, 0, 2, 3), write(2, 3, 0, 10, 12)))
                .as("a short read hides no long one")
                .hasSize(1);
    }

    @Test
    void overlap_aThreadThatDowngradesIsNoTwo() {
        assertThat(found(new OverlapCheck(), write(0, 1, 0, 1, 5), read(0, 1, 4, 4, 9)))
                .isEmpty();
        assertThat(found(new OverlapCheck(), write(0, 1, 0, 1, 5), read(0, 1, 4, 4, 9), write(1, 2, 0, 6, 7)))
                .as("another writer before it has ended to read")
                .hasSize(1);
        assertThat(found(new OverlapCheck(), write(0, 1, 0, 1, 5), read(1, 1, 4, 4, 9)))
                .as("another process with the same token")
                .hasSize(1);
    }

    @Test
    void overlap_permits() {
        Operation three = permits(0, 3, 1, 1, 0, 1, 9);
        Operation two = permits(1, 2, 2, 2, 0, 2, 8);
        assertThat(found(new OverlapCheck(), three, two, permits(2, 1, 2, 3, 0, 8, 10)))
                .isEmpty();
        assertThat(found(new OverlapCheck(), three, two, permits(2, 1, 3, 3, 0, 7, 10)))
                .as("six of five")
                .hasSize(1);
        assertThat(found(new OverlapCheck(), three, permits(1, 2, 1, 2, 0, 2, 8)))
                .as("one slot twice")
                .hasSize(1);
        assertThat(found(new OverlapCheck(), three, write(1, 2, 0, 2, 8)))
                .as("the lock of that name")
                .hasSize(1);
    }

    @Test
    void overlap_sharesAlone_areNoCase() {
        Evidence reads = evidence(List.of(read(0, 1, 0, 1, 9), read(1, 2, 0, 2, 8)), List.of(), List.of());
        assertThat(new OverlapCheck().check(reads).notJudged()).isEqualTo("nobody wrote");
    }

    @Test
    void tokens_ofReadersThatShareAGrant() {
        assertThat(found(new TokenCheck(), read(0, 5, 0, 1, 20), read(1, 6, 2, 3, 20), read(0, 5, 4, 5, 20)))
                .as("joined after another process had got a newer grant")
                .isEmpty();
        assertThat(found(new TokenCheck(), read(0, 5, 0, 1, 20), read(1, 4, 2, 3, 20)))
                .as("a place in line that another thread has left")
                .isEmpty();
        assertThat(found(new LinearizabilityCheck(), read(0, 5, 0, 1, 20), read(1, 4, 2, 3, 20)))
                .isEmpty();
        assertThat(found(new TokenCheck(), read(0, 5, 0, 1, 2), write(1, 4, 2, 3, 20)))
                .as("a writer")
                .hasSize(1);
        assertThat(found(new TokenCheck(), write(0, 5, 0, 1, 2), read(1, 4, 2, 3, 20)))
                .as("a reader after a writer")
                .hasSize(1);
        assertThat(found(new TokenCheck(), read(0, 5, 0, 1, 20), read(1, 5, 0, 3, 20)))
                .as("a token of two processes")
                .hasSize(1);
        assertThat(found(new TokenCheck(), write(0, 5, 0, 1, 2), write(0, 5, 0, 3, 4)))
                .as("a token of two writes")
                .hasSize(1);
    }

    /** A store may count places in its line: who has room may learn of it late. */
    @Test
    void claims_areInOrder_whereTheyExcludeEachOther() {
        assertThat(found(new ClaimOrderCheck(), read(0, 2, 0, 1, 2), read(1, 1, 0, 3, 4)))
                .as("two reads")
                .isEmpty();
        assertThat(found(new ClaimOrderCheck(), read(0, 2, 0, 1, 2), write(1, 1, 0, 3, 4)))
                .as("a write after a read")
                .hasSize(1);
        assertThat(found(new ClaimOrderCheck(), write(0, 2, 0, 1, 2), read(1, 1, 0, 3, 4)))
                .as("a read after a write")
                .hasSize(1);
        assertThat(found(new ClaimOrderCheck(), permits(0, 1, 1, 2, 0, 1, 2), permits(1, 1, 2, 1, 0, 3, 4)))
                .as("two slots")
                .isEmpty();
        Operation[] sameSlot = {permits(0, 1, 1, 2, 0, 1, 2), permits(1, 1, 1, 1, 0, 3, 4)};
        assertThat(found(new ClaimOrderCheck(), sameSlot)).as("one slot").hasSize(1);
        Result stoodStill = new ClaimOrderCheck()
                .check(evidence(
                        List.of(sameSlot),
                        List.of(),
                        List.of(new Interval("busy", 1 * Claims.MILLI, 2 * Claims.MILLI))));
        assertThat(stoodStill.violations())
                .as("one slot, of one that stood still")
                .hasSize(1);
    }

    @Test
    void linearizability_aWriteThatGoesOnAsARead() {
        assertThat(found(new LinearizabilityCheck(), write(0, 1, 0, 1, 5), read(0, 1, 4, 4, 9), read(1, 2, 2, 6, 8)))
                .isEmpty();
        assertThat(found(new LinearizabilityCheck(), write(0, 1, 0, 1, 5), read(0, 1, 4, 4, 9), write(1, 2, 2, 6, 8)))
                .hasSize(1);
    }

    @Test
    void register_readersAreComparedWithWriters() {
        assertThat(accesses(reads(7, 1, 0), reads(5, 2, 0), reads(7, 1, 0, 0))).isEmpty();
        assertThat(accesses(alone(6, 3), reads(5, 2, 0)))
                .as("older than a write")
                .hasSize(1);
        assertThat(accesses(reads(7, 1, 0), alone(6, 3)))
                .as("a write older than a read")
                .hasSize(1);
        assertThat(accesses(reads(5, 1, 0), reads(5, 2, 0)))
                .as("two readers of a process")
                .isEmpty();
        assertThat(accesses(reads(5, 1, 0), reads(5, 1, 0, 4)))
                .as("what was read has changed")
                .hasSize(1);
    }

    private static Register.Access reads(long token, long holder, long value) {
        return new Register.Access(1, token, holder, false, true, true, Register.NOTHING, value);
    }

    private static Register.Access reads(long token, long holder, long base, long value) {
        return new Register.Access(1, token, holder, false, true, true, base, value);
    }

    private static Register.Access alone(long token, long holder) {
        return new Register.Access(1, token, holder, false, true, Register.NOTHING, 0);
    }

    private static List<String> accesses(Register.Access... accesses) {
        Evidence evidence = new Evidence(
                new History(List.of(), Map.of(), Map.of(), List.of(), Map.of()),
                List.of(),
                Pace.EVEN,
                Map.of(1, List.of(accesses)),
                2_000,
                0,
                0,
                List.of());
        return new RegisterCheck().check(evidence).violations();
    }

    @Test
    void register_slotsHavePlacesOfTheirOwn() {
        assertThat(new Register.Access(Register.place(7, 3), 1, 1, true, true, 0, 0).place())
                .isEqualTo("name 7 slot 3");
        assertThat(new Register.Access(7, 1, 1, true, true, 0, 0).place()).isEqualTo("name 7");
    }

    @Test
    void wakeUp_freeForThoseWhoWait() {
        Operation reader = released(read(0, 1, 0, 100, 1_000), 1_001);
        Operation longReader = released(read(1, 2, 0, 100, 4_000), 4_001);
        assertThat(found(new WakeUpCheck(), reader, longReader, released(write(2, 3, 500, 4_010, 4_100), 4_101)))
                .as("a writer waits for all readers")
                .isEmpty();
        assertThat(found(new WakeUpCheck(), reader, longReader, released(read(2, 3, 500, 4_010, 4_100), 4_101)))
                .as("a reader waits for none")
                .hasSize(1);
        Operation gaveUp = waiting(3, Demand.EXCLUSIVE, 400);
        gaveUp.failed = 4_005 * Claims.MILLI;
        assertThat(found(new WakeUpCheck(), reader, longReader, gaveUp, released(read(2, 3, 500, 4_010, 4_100), 4_101)))
                .as("but for a writer ahead of it")
                .isEmpty();
    }

    @Test
    void wakeUp_permits() {
        Operation three = released(permits(0, 3, 1, 1, 0, 100, 4_000), 4_001);
        Operation two = released(permits(1, 2, 2, 2, 0, 110, 1_000), 1_001);
        assertThat(found(new WakeUpCheck(), three, two, released(permits(2, 3, 1, 3, 500, 4_010, 4_100), 4_101)))
                .as("two are free for one who wants three")
                .isEmpty();
        assertThat(found(new WakeUpCheck(), three, two, released(permits(2, 2, 2, 3, 500, 4_010, 4_100), 4_101)))
                .as("and for one who wants two")
                .hasSize(1);
    }

    /** Two were served at once by a release; the first of them does not make the other one late. */
    @Test
    void wakeUp_permits_twoAtOnce() {
        Operation three = released(permits(0, 3, 1, 1, 0, 100, 4_000), 4_001);
        Operation one = released(permits(1, 1, 2, 3, 500, 4_002, 4_100), 4_101);
        Operation other = released(permits(2, 3, 1, 2, 400, 4_003, 4_100), 4_101);
        assertThat(found(new WakeUpCheck(), three, one, other)).isEmpty();
    }

    @Test
    void takeOver_afterTheDeathOfAReader() {
        Operation dead = read(0, 1, 0, 100, 1_000);
        Operation writer = write(1, 3, 500, 3_000, 3_100);
        assertThat(takeOver(dead, writer).facts()).containsEntry("max ms", 1_990L);
        writer.acquired = 60_000 * Claims.MILLI;
        assertThat(takeOver(dead, writer).violations()).hasSize(1);
        assertThat(takeOver(dead, writer, released(read(2, 2, 0, 100, 9_000), 9_001))
                        .violations())
                .as("another one reads on")
                .isEmpty();
        assertThat(takeOver(dead, read(1, 3, 500, 3_000, 3_100)).isJudged())
                .as("a reader does not need what the dead one has")
                .isFalse();
    }

    @Test
    void takeOver_afterTheDeathOfAHolderOfPermits() {
        Operation dead = permits(0, 3, 1, 1, 0, 100, 1_000);
        assertThat(takeOver(dead, permits(1, 3, 1, 2, 500, 3_000, 3_100)).facts())
                .containsEntry("max ms", 1_990L);
        assertThat(takeOver(dead, permits(1, 3, 1, 2, 500, 60_000, 60_100)).violations())
                .hasSize(1);
        assertThat(takeOver(dead, permits(1, 2, 2, 2, 500, 3_000, 3_100)).isJudged())
                .as("two were free")
                .isFalse();
    }

    private static Result takeOver(Operation... operations) {
        return new TakeOverCheck()
                .check(evidence(
                        List.of(operations), List.of(fault(FaultKind.CLIENT_KILL, 0, 1_001, 1_010)), List.of()));
    }

    @Test
    void order_onlyOfThoseWhoExcludeEachOther() {
        Operation early = call(0, OpKind.LOCK, 0);
        Operation early1 = call(1, OpKind.LOCK, 0);
        Operation first = claim(0, OpKind.FIFO, 1, 11_000, 15_000, 15_100);
        Operation second = claim(1, OpKind.FIFO, 2, 12_500, 14_999, 15_100);
        first.demand = Demand.SHARED;
        second.demand = Demand.SHARED;
        assertThat(found(new FifoCheck(true), early, early1, first, second))
                .as("two readers at once")
                .isEmpty();
        first.demand = Demand.EXCLUSIVE;
        assertThat(found(new FifoCheck(true), early, early1, first, second))
                .as("a reader passed a writer")
                .hasSize(1);
    }

    @Test
    void starvation() {
        Operation writer = waiting(0, Demand.EXCLUSIVE, 6_000);
        writer.acquired = 17_000 * Claims.MILLI;
        Operation reader = released(read(1, 9, 14_900, 15_000, 15_500), 15_501);
        assertThat(found(new StarvationCheck(), writer, reader)).hasSize(1);
        writer.acquired = 15_900 * Claims.MILLI;
        assertThat(found(new StarvationCheck(), writer, reader)).isEmpty();
        writer.acquired = 17_000 * Claims.MILLI;
        assertThat(found(new StarvationCheck(), writer, reader, released(write(2, 8, 5_000, 5_100, 8_000), 8_001)))
                .as("another one who came before writes for two of these seconds")
                .isEmpty();
        assertThat(found(new StarvationCheck(), writer, reader, released(read(2, 8, 8_000, 8_100, 14_000), 14_001)))
                .as("one who came later reads")
                .hasSize(1);
        assertThat(found(new StarvationCheck(), writer, released(write(1, 9, 14_900, 15_000, 15_500), 15_501)))
                .as("by others who write")
                .isEmpty();
        assertThat(found(new StarvationCheck(), writer)).as("nobody came").isEmpty();
    }

    @Test
    void withoutACase_nothingIsJudged() {
        Evidence nothing = evidence(List.of(), List.of(), List.of());
        for (Workload workload : Workload.values()) {
            for (Check check : Checks.all(workload, true)) {
                assertThat(check.check(nothing).isJudged())
                        .as("%s, %s", workload, check.name())
                        .isFalse();
            }
        }
    }
}
