/**
 * Real servers for tests, and a network that fails on demand.
 *
 * <p>{@link dev.holdfast.lock.testkit.server.process.ServerProcess} starts a store's own binary on a free loopback port in a
 * temporary folder, and pauses, kills and restarts it. {@link dev.holdfast.lock.testkit.server.network.FaultProxy} stands between
 * a client and such a server and delays, swallows or resets. Nothing here is skipped when a binary is missing: the test
 * fails and says how to install it.
 */
@NullMarked
package dev.holdfast.lock.testkit.server;

import org.jspecify.annotations.NullMarked;
