/**
 * The strategy {@code SESSION}: locks of the database's own that belong to a session, many of them to one. Start at
 * {@code SessionLockBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.session;
