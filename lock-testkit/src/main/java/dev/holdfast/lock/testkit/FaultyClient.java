package dev.holdfast.lock.testkit;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.FaultyBackend;

/** A client whose requests fail as the test says. */
record FaultyClient(LockClient client, CountingBackend counts, FaultyBackend faults) implements AutoCloseable {

    static FaultyClient open(LockFixture fixture, LockClientOptions options) {
        FaultyBackend faults = new FaultyBackend(fixture.newBackend());
        CountingBackend counts = new CountingBackend(faults);
        return new FaultyClient(fixture.newClient(counts, options), counts, faults);
    }

    @Override
    public void close() {
        faults.calm();
        client.close();
    }
}
