package dev.holdfast.lock.spring;

import java.lang.reflect.Method;

/**
 * A call of a method with {@link LockedJob}, or with {@link Locked} and {@link OnBusy#SKIP}, did not run, because another holder had
 * its lock. Published to the application's listeners by the thread of the skipped call. A listener that throws is logged, and the
 * call returns all the same. Immutable.
 *
 * @param lock the lock's name
 * @param method the method that did not run
 */
public record SkippedCallEvent(String lock, Method method) {}
