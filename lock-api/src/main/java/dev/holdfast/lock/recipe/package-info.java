/**
 * Multi-locks and elections, built from locks. The entry point is {@link dev.holdfast.lock.recipe.Recipes}. The package uses
 * only the public API, so that the guarantees of a backend's locks hold here too.
 *
 * <p>Users call {@link dev.holdfast.lock.LockClient#lockAll} and {@link dev.holdfast.lock.LockClient#election}; this package
 * is for code that implements or wraps a {@link dev.holdfast.lock.LockClient}.
 */
@NullMarked
package dev.holdfast.lock.recipe;

import org.jspecify.annotations.NullMarked;
