package dev.holdfast.lock.testkit;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.testkit.fault.CountingBackend;

/** A client, and what it asks its backend. */
record CountedClient(LockClient client, CountingBackend counts) implements AutoCloseable {

    static CountedClient open(LockFixture fixture, LockClientOptions options) {
        CountingBackend counts = new CountingBackend(fixture.newBackend());
        return new CountedClient(fixture.newClient(counts, options), counts);
    }

    @Override
    public void close() {
        client.close();
    }
}
