/**
 * Requests to etcd: connections, deadlines, authentication, and what a failure means.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.client;
