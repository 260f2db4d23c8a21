package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.LockOptions;
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
        Options options,
        String client,
        MethodResult result) {

    /** Returns class and method, for messages. */
    String caller() {
        return caller(method);
    }

    static String caller(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName();
    }

    /**
     * What an annotation says about the lock's options; null and empty where it says nothing. Immutable.
     *
     * @param id of named options
     * @param lease as the annotation's
     * @param maxHold as the annotation's
     * @param minHold as the annotation's
     */
    record Options(
            String id,
            @Nullable Duration lease,
            @Nullable Duration maxHold,
            @Nullable Duration minHold) {

        /** Returns whether the client's own options are meant. */
        boolean isEmpty() {
            return id.isEmpty() && lease == null && maxHold == null && minHold == null;
        }

        /** Returns the options, from those that are meant where the annotation says nothing. */
        LockOptions options(LockOptions from) {
            LockOptions.Builder builder = from.toBuilder();
            if (lease != null) {
                builder.lease(lease);
            }
            if (maxHold != null) {
                builder.maxHold(maxHold);
            }
            if (minHold != null) {
                builder.minHold(minHold);
            }
            return builder.build();
        }
    }
}
