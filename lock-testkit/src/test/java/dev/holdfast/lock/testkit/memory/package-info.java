@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.memory;
