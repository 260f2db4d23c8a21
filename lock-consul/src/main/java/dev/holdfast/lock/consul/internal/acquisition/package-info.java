/**
 * An acquisition and its key: attempts, waiting, renewal and removal. Start at {@code ConsulLockBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.consul.internal.acquisition;
