/**
 * The session of the client, its watches, and the nodes of a name: paths, listings, sequence numbers.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.zookeeper.internal.session;
