package dev.holdfast.lock.etcd.internal.acquisition;

/**
 * A write of an acquisition's key that has no answer yet. A repeated write is equal to the first. Immutable.
 *
 * @param expected the mod revision that the key must have; 0 if there must be no key
 * @param created the key's create revision, if it has the expected mod revision
 * @param slot for permits, the slot in the key; for a creation, the slot in the new key
 * @param lease the lease on which the key is put
 */
public record KeyWrite(long expected, long created, int slot, SharedLease lease) {}
