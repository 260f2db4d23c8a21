package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which keys are in use. */
final class ClientKeyPoolTest {
    private final ClientKeyPool slots = new ClientKeyPool();

    @Test
    void numberThatWasGivenBack_isTakenAgain() {
        ClientKeyPool.Slot first = slots.take("n");
        ClientKeyPool.Slot second = slots.take("n");
        assertThat(second).isNotEqualTo(first);
        assertThat(first.number())
                .as("of which the first guess of a slot is made")
                .isZero();
        assertThat(second.number()).isEqualTo(1);

        slots.giveBack("n", first);

        assertThat(slots.take("n")).isEqualTo(first);
        slots.giveBack("n", first);
        slots.giveBack("n", second);
        assertThat(slots.names()).isZero();
    }

    /** It is another acquisition's key there. Two acquisitions with one key would delete each other's. */
    @Test
    void numberOfAnEarlierSeries_isNotGivenBackToThePresentOne() {
        ClientKeyPool.Slot earlier = slots.take("n");
        slots.retire(slots.take("other"));
        ClientKeyPool.Slot present = slots.take("n");
        assertThat(present.number()).isEqualTo(earlier.number());

        slots.giveBack("n", earlier);

        assertThat(slots.take("n")).isNotEqualTo(present).isNotEqualTo(earlier);
    }

    @Test
    void deletion_withoutAnswer_leavesNoState() {
        for (int i = 0; i < 1_000; i++) {
            ClientKeyPool.Slot slot = slots.take("name-" + i);
            slots.retire(slot);
            assertThat(slots.take("name-" + i).toString())
                    .as("never that key again")
                    .isNotEqualTo(slot.toString());
            slots.giveBack("name-" + i, slot);
        }
        assertThat(slots.names()).isLessThanOrEqualTo(1);
    }
}
