/**
 * An acquisition and its key: conditional writes, the etcd leases it is attached to, watches, and tickets of waiters. Start at
 * {@code EtcdAcquisition}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.acquisition;
