/**
 * What a backend must do, as tests; start at {@link dev.holdfast.lock.testkit.LockContract}. A backend's test subclasses
 * it and starts a {@link dev.holdfast.lock.testkit.fixture.LockFixture}: a store on this machine that can be looked into and,
 * as far as it can, be paused, restarted and cut off.
 *
 * <p>A test that needs a {@link dev.holdfast.lock.testkit.fixture.Capability} which the fixture lacks does not exist for it: it
 * is neither run nor reported as skipped, but listed on standard output when the contract ends.
 *
 * <p>For tests of one backend alone, {@link dev.holdfast.lock.testkit.contract.backend.BackendDriver} drives an acquisition through it, as the
 * engine does.
 *
 * <p>Sub-packages: {@code memory} is the reference backend, usable in any unit test; {@code server} starts real
 * servers.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit;
