/**
 * Helpers for writing a backend: addresses, time-outs, the diagnosis of a failed connection, and the translation of a client's
 * exceptions. A backend may use them or not.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spi.support;
