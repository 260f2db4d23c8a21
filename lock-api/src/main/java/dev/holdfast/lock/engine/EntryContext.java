package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;

/**
 * What the parts of one {@link LockEntry} share.
 *
 * @param name the lock's name
 * @param demand what its acquisitions ask for
 * @param engine the parts of the client
 * @param mutex what the entry's state is changed under
 * @param queue the local waiters
 * @param availability what the store last said about the name
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

    /** Removes whatever an acquisition has on the server, after the present transition. */
    void abandon(AcquisitionId acquisition, long leaseMillis) {
        mutex.afterUnlock(engine.releaser().abandon(acquisition, leaseMillis));
    }
}
