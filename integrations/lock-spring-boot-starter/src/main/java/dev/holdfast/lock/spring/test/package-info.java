/** Tests of applications: {@link dev.holdfast.lock.spring.test.AutoConfigureLocks} replaces the store by this JVM's memory. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.test;
