package dev.holdfast.lock.spring.aop;

import java.lang.reflect.Method;
import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/** What a method's annotations say about null. Spring 7 can read them; before, nothing is known. */
final class ReturnNullness {
    private static final boolean READABLE =
            ClassUtils.isPresent("org.springframework.core.Nullness", ReturnNullness.class.getClassLoader());

    private ReturnNullness() {}

    /** Returns whether the method declares that it does not return null. */
    static boolean isNonNull(Method method) {
        return READABLE && Spring7.isNonNull(method);
    }

    /** Only loaded where there is Spring 7. */
    private static final class Spring7 {
        static boolean isNonNull(Method method) {
            return Nullness.forMethodReturnType(method) == Nullness.NON_NULL;
        }
    }
}
