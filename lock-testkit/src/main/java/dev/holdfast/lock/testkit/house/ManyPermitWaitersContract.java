package dev.holdfast.lock.testkit.house;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The same for permits, each waiter of which has a place in the store's own queue. Public for subclasses in other modules. */
@House("scale:processes")
public abstract class ManyPermitWaitersContract extends ManyWaitersContract {
    private static final int PERMITS = 8;

    /** For subclasses. */
    protected ManyPermitWaitersContract() {}

    /**
     * How many waiters there are, in ascending order: as many as the store's page says that it serves at a linear cost.
     *
     * @return by default 1,000 to 10,000
     */
    protected int[] permitWaiters() {
        return SIZES.clone();
    }

    @Test
    @DisplayName("Thousands of waiters of four processes for eight permits: each costs what one of few costs")
    void waitersForPermits_costIsLinear() throws Exception {
        judgeCurve(PERMITS, permitWaiters());
    }
}
