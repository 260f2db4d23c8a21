package dev.holdfast.lock;

/**
 * A client's pending releases and dropped events, in addition to the locks listed by {@link LockClient#held()}. Immutable.
 *
 * @param store the kind of store: {@code jdbc}, {@code redis}, {@code redlock}, {@code etcd}, {@code zookeeper},
 *     {@code memory} or another backend's name; never an address
 * @param pendingReleases the number of failed releases and abandonments that are retried in the background; other processes
 *     may have to wait for them until the leases expire
 * @param droppedEvents the number of events that were dropped since the client was opened, because its listeners were too
 *     slow; sums over the events are then incomplete
 */
public record ClientStatus(String store, int pendingReleases, long droppedEvents) {}
