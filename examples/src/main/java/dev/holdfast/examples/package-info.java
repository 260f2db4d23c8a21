/**
 * Small programs, each about one thing: {@link dev.holdfast.examples.FirstLock} first. All take the lock store's URI as
 * their argument. The flash sale, which {@code bin/demo} runs, is in {@link dev.holdfast.examples.sale}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples;
