/**
 * Small programs, each about one thing: {@link dev.holdfast.examples.FirstLock} first. All take the lock store's URI as
 * their argument. {@code bin/demo} runs the flash sale in {@link dev.holdfast.examples.sale} and the election in {@link
 * dev.holdfast.examples.election}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples;
