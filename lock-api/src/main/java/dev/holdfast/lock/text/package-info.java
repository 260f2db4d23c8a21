/**
 * Handling of external text: {@link dev.holdfast.lock.text.Scheme} reads the start of an address, {@link
 * dev.holdfast.lock.text.Printable} makes names and identities safe for messages, {@link dev.holdfast.lock.text.Libraries}
 * explains incompatible library versions. Not exported.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.text;
