package dev.holdfast.lock;

/**
 * What a client has left to do and what it did not report, beside the locks that {@link LockClient#held()} lists. Immutable.
 *
 * @param store the kind of store: {@code jdbc}, {@code redis}, {@code redlock}, {@code etcd}, {@code zookeeper},
 *     {@code memory} or another backend's name; never an address
 * @param pendingReleases how many releases and abandonments failed and are retried in the background; locks of other
 *     processes may wait for them until their leases end
 * @param droppedEvents how many events were not told since the client was opened, because its listeners were too slow; then
 *     the events do not add up
 */
public record ClientStatus(String store, int pendingReleases, long droppedEvents) {}
