package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.List;
import org.junit.jupiter.api.Test;

class SequentialNodeTest {

    private static final String OWNER = "0123456789abcdef0123456789abcdef";

    @Test
    void parse_sharesAndPermits_haveTheirDemand() {
        assertThat(SequentialNode.parse(OWNER + "-r-0000000042"))
                .contains(new SequentialNode(OWNER + "-r-0000000042", 42, Demand.SHARED));
        assertThat(SequentialNode.parse(OWNER + "-p2of3-0000000042"))
                .contains(new SequentialNode(OWNER + "-p2of3-0000000042", 42, new Demand.Permits(2, 3)));
        AcquisitionId acquisition = new AcquisitionId("a", OwnerId.random(), new Demand.Permits(2, 3));
        assertThat(SequentialNode.parse(SequentialNode.prefix(acquisition) + "0000000007"))
                .map(SequentialNode::demand)
                .contains(acquisition.demand());
    }

    @Test
    void parse_slotsAndWhatIsNotOurs_areNoPlaces() {
        for (String other : List.of("s1-", "p0of3-", "p4of3-", "pof-", "p1of9999999-", "r", "x-", "p1of3")) {
            assertThat(SequentialNode.parse(OWNER + "-" + other + "0000000042"))
                    .as(other)
                    .isEmpty();
        }
        assertThat(SequentialNode.parse(OWNER + "-r-")).isEmpty();
        assertThat(SequentialNode.parse(OWNER + "-p1of2-")).isEmpty();
        assertThat(SequentialNode.parse(OWNER + "-p100of999-")).isEmpty();
    }

    @Test
    void parse_own_hasSequence() {
        assertThat(SequentialNode.parse(OWNER + "-0000000042"))
                .contains(new SequentialNode(OWNER + "-0000000042", 42, Demand.EXCLUSIVE));
        assertThat(SequentialNode.parse(OWNER + "-2147483647").orElseThrow().sequence())
                .isEqualTo(Integer.MAX_VALUE);
        assertThat(SequentialNode.parse(OWNER + "--2147483648").orElseThrow().sequence())
                .isEqualTo(Integer.MIN_VALUE);
        assertThat(SequentialNode.parse(OWNER + "--000000001").orElseThrow().sequence())
                .isEqualTo(-1);
    }

    @Test
    void parse_foreign_isEmpty() {
        for (String foreign : List.of(
                "",
                "lock-0000000001",
                OWNER,
                OWNER + "-",
                OWNER + "-1",
                OWNER + "-00000000x1",
                OWNER + "-2147483648",
                OWNER + "-00000000001",
                OWNER + "_0000000001",
                OWNER.toUpperCase(java.util.Locale.ROOT) + "-0000000001",
                "_c_6fd7bbcd-c9b9-4a3a-8c5e-1e4b3e5a4a4a-lock-0000000001")) {
            assertThat(SequentialNode.parse(foreign)).as(foreign).isEmpty();
        }
    }

    @Test
    void parse_everyOwner_isOwn() {
        for (int i = 0; i < 100; i++) {
            OwnerId owner = OwnerId.random();
            assertThat(SequentialNode.parse(SequentialNode.prefix(owner) + "0000000000")
                            .orElseThrow()
                            .isOf(owner))
                    .isTrue();
        }
    }

    @Test
    void isOrdered_endOfSequence_isNot() {
        assertThat(SequentialNode.isOrdered(SequentialNode.of(List.of()))).isTrue();
        assertThat(SequentialNode.isOrdered(of(0, 1, 2))).isTrue();
        assertThat(SequentialNode.isOrdered(of(1, 1, 2))).isFalse();
        assertThat(SequentialNode.isOrdered(of(Integer.MAX_VALUE))).isFalse();
        assertThat(SequentialNode.isOrdered(of(-5, 7))).isFalse();
    }

    private static List<SequentialNode> of(int... sequences) {
        return java.util.Arrays.stream(sequences)
                .mapToObj(sequence -> new SequentialNode(OWNER + sequence, sequence, Demand.EXCLUSIVE))
                .sorted(SequentialNode.BY_SEQUENCE)
                .toList();
    }

    @Test
    void isOrdered_upToTheLastSequenceThatIsTrusted() {
        int last = Integer.MAX_VALUE - 100_000;
        assertThat(SequentialNode.isTrusted(last)).isTrue();
        assertThat(SequentialNode.isTrusted(last + 1)).isFalse();
        assertThat(SequentialNode.isTrusted(0)).isTrue();
        assertThat(SequentialNode.isTrusted(-1)).isFalse();
        assertThat(SequentialNode.isOrdered(of(0, last + 1))).isFalse();
        assertThat(SequentialNode.isOrdered(of(1, 2, 2))).isFalse();
    }

    @Test
    void of_sortsBySequence_andLeavesOutWhatIsNotOurs() {
        assertThat(SequentialNode.of(List.of(OWNER + "-0000000009", "lock", OWNER + "-r-0000000007")))
                .extracting(SequentialNode::sequence)
                .containsExactly(7, 9);
    }

    @Test
    void permits_areToldFromTheOthers() {
        assertThat(SequentialNode.parse(OWNER + "-p1of1-0000000042")
                        .orElseThrow()
                        .isForPermits())
                .isTrue();
        assertThat(SequentialNode.parse(OWNER + "-p1of1000000-0000000042").isPresent())
                .isTrue();
        assertThat(SequentialNode.parse(OWNER + "-p1of1000001-0000000042")).isEmpty();
        assertThat(SequentialNode.parse(OWNER + "-r-0000000042").orElseThrow().isForPermits())
                .isFalse();
        OwnerId owner = OwnerId.random();
        assertThat(SequentialNode.prefix(new AcquisitionId("a", owner))).isEqualTo(owner + "-");
        assertThat(SequentialNode.prefix(new AcquisitionId("a", owner, Demand.SHARED)))
                .isEqualTo(owner + "-r-");
        assertThat(SequentialNode.prefix(new AcquisitionId("a", owner, new Demand.Permits(2, 3))))
                .isEqualTo(owner + "-p2of3-");
        assertThat(SequentialNode.parse(owner + "-0000000042").orElseThrow().isOf(OwnerId.random()))
                .isFalse();
    }

    @Test
    void parse_charactersBesideDigits_areRefused() {
        for (String other : List.of(
                OWNER.substring(1) + "g-0000000001",
                OWNER.substring(1) + "`-0000000001",
                OWNER.substring(1) + ":-0000000001",
                "/" + OWNER.substring(1) + "-0000000001",
                OWNER + "-000000000/",
                OWNER + "-000000000:",
                OWNER + "--2147483649",
                OWNER + "-r--",
                OWNER + "-r-00000000001")) {
            assertThat(SequentialNode.parse(other)).as(other).isEmpty();
        }
    }
}
