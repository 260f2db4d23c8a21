@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit;
