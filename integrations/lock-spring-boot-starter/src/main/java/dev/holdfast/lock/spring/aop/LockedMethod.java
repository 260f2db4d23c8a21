package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.OnBusy;
import java.lang.reflect.Method;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A method with the annotation, read once: placeholders are resolved, durations and the name are parsed. Immutable.
 *
 * @param method the method of the bean's class
 * @param name its lock's name
 * @param waitFor how long to wait; null as the properties say
 * @param onBusy what happens if another holder has the lock
 * @param options where its options come from
 * @param client name of the client's bean; empty for the only one
 * @param result what its result is
 */
record LockedMethod(
        Method method,
        LockNameTemplate name,
        @Nullable Duration waitFor,
        OnBusy onBusy,
        OptionsSource options,
        String client,
        MethodResult result) {

    /** Returns class and method, for messages. */
    String caller() {
        return caller(method);
    }

    static String caller(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName();
    }
}
