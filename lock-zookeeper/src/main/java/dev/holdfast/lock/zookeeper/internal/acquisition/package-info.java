/**
 * An acquisition and its node: creation, completion, removal.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.zookeeper.internal.acquisition;
