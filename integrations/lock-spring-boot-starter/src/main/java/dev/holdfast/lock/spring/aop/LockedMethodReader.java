package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.OnBusy;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.convert.DurationStyle;

/** Reads an annotation, and refuses what could not work. Stateless. */
final class LockedMethodReader {
    private final ConfigurableBeanFactory beans;

    LockedMethodReader(ConfigurableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Reads.
     *
     * @param locked the annotation
     * @param annotated where it stands
     * @param method the method of the bean's class that it is about
     * @param targetClass the bean's class
     * @throws IllegalStateException if it could not work; the message has the method, what is wrong and what to do
     */
    LockedMethod read(Locked locked, Method annotated, Method method, Class<?> targetClass) {
        try {
            requireVisible(method);
            MethodResult result = MethodResult.of(method, targetClass);
            if (locked.onBusy() == OnBusy.SKIP && result.nothing() == null) {
                throw new IllegalArgumentException("a skipped call would have to return a "
                        + method.getGenericReturnType().getTypeName()
                        + "; return an Optional or declare the result @Nullable, or let it throw (onBusy = THROW)");
            }
            LockedMethod.Options options = new LockedMethod.Options(
                    resolved("options", locked.options()),
                    duration("lease", locked.lease()),
                    duration("maxHold", locked.maxHold()),
                    duration("minHold", locked.minHold()));
            options.options(LockOptions.defaults()); // throws if they contradict each other
            return new LockedMethod(
                    method,
                    LockNameTemplate.parse(resolved("name", locked.name()), annotated, beans),
                    duration("waitFor", locked.waitFor()),
                    locked.onBusy(),
                    options,
                    resolved("client", locked.client()),
                    result);
        } catch (IllegalArgumentException e) {
            throw refused(method, e.getMessage(), e);
        }
    }

    static IllegalStateException refused(Method method, @Nullable String problem, @Nullable Throwable cause) {
        return new IllegalStateException("@Locked cannot work at " + method.toGenericString() + ": " + problem, cause);
    }

    private static void requireVisible(Method method) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers) || Modifier.isFinal(modifiers)) {
            throw new IllegalArgumentException("a proxy cannot see calls of a method that is "
                    + (Modifier.isPrivate(modifiers) ? "private" : Modifier.isStatic(modifiers) ? "static" : "final")
                    + "; change that, or use LockTemplate");
        }
    }

    private String resolved(String attribute, String text) {
        String resolved;
        try {
            resolved = beans.resolveEmbeddedValue(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(attribute + " = \"" + text + "\": " + e.getMessage(), e);
        }
        if (resolved == null) {
            throw new IllegalArgumentException(attribute + " = \"" + text + "\" is null");
        }
        if (resolved.contains("${")) {
            throw new IllegalArgumentException(
                    attribute + " = \"" + resolved + "\" has a placeholder that is not set; set the property");
        }
        return resolved;
    }

    private @Nullable Duration duration(String attribute, String text) {
        String resolved = resolved(attribute, text).trim();
        if (resolved.isEmpty()) {
            return null;
        }
        try {
            if (resolved.matches("[+-]?\\d+") && !resolved.equals("0")) {
                throw new IllegalArgumentException("it has no unit");
            }
            Duration duration = DurationStyle.detectAndParse(resolved);
            if (duration.isNegative()) {
                throw new IllegalArgumentException("it is negative");
            }
            return duration;
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    attribute + " = \"" + resolved + "\" is not a duration: " + e.getMessage()
                            + "; write it as 5s or PT5S",
                    e);
        }
    }
}
