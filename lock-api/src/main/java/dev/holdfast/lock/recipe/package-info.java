/**
 * What is made of locks: multi-locks and elections. {@link dev.holdfast.lock.recipe.Recipes} is the way in; it stands on the
 * public API alone, so that whatever a backend promises for its locks holds for these too.
 *
 * <p>Users call {@link dev.holdfast.lock.LockClient#lockAll} and {@link dev.holdfast.lock.LockClient#election}; this package is
 * for those who implement or wrap a {@link dev.holdfast.lock.LockClient}.
 */
@NullMarked
package dev.holdfast.lock.recipe;

import org.jspecify.annotations.NullMarked;
