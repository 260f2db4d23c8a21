/**
 * A program under a lease: {@link dev.holdfast.lock.cli.process.Supervisor} watches the lease, and ends a
 * {@link dev.holdfast.lock.cli.process.GuardedProcess} with all that it started before the lease does. It is independent of
 * options and output.
 */
@NullMarked
package dev.holdfast.lock.cli.process;

import org.jspecify.annotations.NullMarked;
