package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.Locked;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * The annotated methods of classes. The annotation may stand at the method itself, or at one of a base class or an interface
 * that it implements; the nearest counts. Each class is read once. Thread-safe.
 */
final class LockedMethods {
    private final LockedSearch search = new LockedSearch();
    private final ConfigurableBeanFactory beans;
    private final Map<Class<?>, Map<Method, LockedMethod>> classes = new ConcurrentHashMap<>();

    LockedMethods(ConfigurableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Returns the annotated methods of a class, by the methods that an invocation ends in.
     *
     * @throws IllegalStateException if one of them could not work
     */
    Map<Method, LockedMethod> of(Class<?> type) {
        Class<?> user = ClassUtils.getUserClass(type);
        Map<Method, LockedMethod> known = classes.get(user);
        if (known == null) {
            known = read(user);
            classes.put(user, known);
        }
        return known;
    }

    /** Returns what the annotation of a method says; null if it has none. */
    @Nullable LockedMethod find(Method method, Class<?> targetClass) {
        Map<Method, LockedMethod> methods = of(targetClass);
        return methods.isEmpty() ? null : methods.get(specific(method, ClassUtils.getUserClass(targetClass)));
    }

    private Map<Method, LockedMethod> read(Class<?> user) {
        List<Method> annotated = search.methods(user);
        if (annotated.isEmpty()) {
            return Map.of();
        }
        LockedMethodReader reader = new LockedMethodReader(beans);
        Map<Method, LockedMethod> found = new LinkedHashMap<>();
        for (Method method : annotated) {
            Locked locked = annotation(method);
            Method specific = specific(method, user);
            if (locked != null && !found.containsKey(specific)) {
                found.put(specific, reader.read(locked, method, specific, user));
            }
        }
        return Map.copyOf(found);
    }

    private static @Nullable Locked annotation(Method method) {
        List<Locked> all = MergedAnnotations.from(method, SearchStrategy.DIRECT).stream(Locked.class)
                .map(MergedAnnotation::synthesize)
                .toList();
        if (all.size() > 1) {
            throw LockedMethodReader.refused(
                    method, "it has " + all.size() + " annotations that are @Locked; leave one", null);
        }
        return all.isEmpty() ? null : all.get(0);
    }

    /**
     * Returns the method that an invocation ends in. A bean that is a JDK proxy by itself, as repositories and clients of declared
     * interfaces are, has only generated methods: those of its interfaces stand for them.
     */
    static Method specific(Method method, Class<?> user) {
        if (Proxy.isProxyClass(user)) {
            return method;
        }
        return AopUtils.getMostSpecificMethod(method, user);
    }
}
