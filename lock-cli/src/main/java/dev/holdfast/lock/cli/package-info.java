/**
 * The command {@code holdfast}: {@link dev.holdfast.lock.cli.Holdfast} and a thin class for each subcommand, which read
 * options and print. What keeps a program under its lock is in {@code process}. Commands use the public API alone.
 */
@NullMarked
package dev.holdfast.lock.cli;

import org.jspecify.annotations.NullMarked;
