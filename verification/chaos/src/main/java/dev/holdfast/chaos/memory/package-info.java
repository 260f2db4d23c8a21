/** The testkit's memory store behind a TCP port, as a quick server of which every part can be broken on purpose. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.memory;
