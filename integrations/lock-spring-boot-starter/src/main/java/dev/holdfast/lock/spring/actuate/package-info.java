/** The actuator's view of the locks: {@link dev.holdfast.lock.spring.actuate.LocksEndpoint}, and health. It changes nothing. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.actuate;
