/**
 * The strategies {@code VERSION} and {@code UNIQUE_INDEX}: a row per name whose lease expires by the clock of the database. Start at
 * {@code ExpiringRowBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.expiring;
