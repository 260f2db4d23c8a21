package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;

/**
 * The values that the parts of one {@link LockEntry} share.
 *
 * @param name the lock's name
 * @param demand the demand of its acquisitions
 * @param engine the parts of the client
 * @param mutex guards the entry's state
 * @param queue the local waiters
 * @param availability when the store last answered about the name
 */
record EntryContext(
        String name,
        Demand demand,
        EngineContext engine,
        StateMutex mutex,
        WaitQueue queue,
        Availability availability) {

    static EntryContext of(String name, Demand demand, EngineContext engine, StateMutex mutex) {
        return new EntryContext(
                name,
                demand,
                engine,
                mutex,
                new WaitQueue(name, engine, mutex),
                new Availability(name, engine.ticker()));
    }

    /** Abandons an acquisition after the present transition. */
    void abandon(AcquisitionId acquisition, long leaseMillis) {
        mutex.afterUnlock(engine.releaser().abandon(acquisition, leaseMillis));
    }
}
