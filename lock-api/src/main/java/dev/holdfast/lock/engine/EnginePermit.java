package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Permit;

/** The user's handle of acquired permits. */
final class EnginePermit extends EngineLease implements Permit {
    EnginePermit(EngineContext engine, BlockingCalls calls, Hold hold) {
        super(engine, calls, hold, true);
    }

    @Override
    public int permits() {
        return grant().demand() instanceof Demand.Permits held ? held.permits() : 1;
    }

    @Override
    public int slot() {
        return grant().slot();
    }
}
