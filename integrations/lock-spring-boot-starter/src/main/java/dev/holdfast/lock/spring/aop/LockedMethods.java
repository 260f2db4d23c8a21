package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.Locked;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.type.classreading.SimpleMetadataReaderFactory;
import org.springframework.util.ClassUtils;

/**
 * The annotated methods of classes. The annotation may stand at the method itself, or at one of a base class or an interface
 * that it implements; the nearest counts. Each class is read once. Thread-safe.
 */
final class LockedMethods {
    private static final Logger LOG = LoggerFactory.getLogger(LockedMethods.class);

    /**
     * Libraries whose objects are often beans, and cannot have our annotation. To look at their methods loads the classes of all
     * parameters and results, which took most of what the starter added to a start.
     */
    private static final List<String> LIBRARIES = List.of(
            "org.springframework.",
            "io.micrometer.",
            "io.lettuce.",
            "io.netty.",
            "reactor.",
            "com.zaxxer.hikari.",
            "com.fasterxml.jackson.",
            "tools.jackson.",
            "org.apache.curator.",
            "org.apache.catalina.",
            "org.hibernate.");

    private final LockedMethodReader reader;
    private final Map<Class<?>, Map<Method, LockedMethod>> classes = new ConcurrentHashMap<>();

    LockedMethods(ConfigurableBeanFactory beans) {
        reader = new LockedMethodReader(beans);
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
        if (!AnnotationUtils.isCandidateClass(user, Locked.class) || isLibrary(user)) {
            return Map.of();
        }
        Map<Method, LockedMethod> found = new LinkedHashMap<>();
        for (Class<?> type : hierarchy(user)) {
            for (Method method : declaredMethods(type)) {
                Locked locked = method.isSynthetic() ? null : annotation(method);
                if (locked != null) {
                    Method specific = specific(method, user);
                    if (!found.containsKey(specific)) {
                        found.put(specific, reader.read(locked, method, specific, user));
                    }
                }
            }
        }
        return Map.copyOf(found);
    }

    private static boolean isLibrary(Class<?> user) {
        String name = user.getName();
        return LIBRARIES.stream().anyMatch(name::startsWith);
    }

    /**
     * Returns the methods of a class; none if it names a class that is missing, as those with optional dependencies do.
     *
     * @throws IllegalStateException if so, and its class file has the annotation: it must not run without its locks
     */
    private static Method[] declaredMethods(Class<?> type) {
        try {
            return type.getDeclaredMethods();
        } catch (LinkageError e) {
            if (hasAnnotation(type)) {
                throw LockedMethodReader.refused(type, e);
            }
            LOG.debug("{} cannot be linked, and is not looked at", type, e);
            return new Method[0];
        }
    }

    private static boolean hasAnnotation(Class<?> type) {
        try {
            return new SimpleMetadataReaderFactory(type.getClassLoader())
                    .getMetadataReader(type.getName())
                    .getAnnotationMetadata()
                    .hasAnnotatedMethods(Locked.class.getName());
        } catch (IOException e) {
            LOG.debug("{} has no class file", type, e);
            return false;
        }
    }

    private static @Nullable Locked annotation(Method method) {
        if (method.getDeclaredAnnotations().length == 0) {
            return null;
        }
        List<Locked> all = MergedAnnotations.from(method, SearchStrategy.DIRECT).stream(Locked.class)
                .map(MergedAnnotation::synthesize)
                .toList();
        if (all.size() > 1) {
            throw LockedMethodReader.refused(
                    method, "it has " + all.size() + " annotations that are @Locked; leave one", null);
        }
        return all.isEmpty() ? null : all.get(0);
    }

    private static Method specific(Method method, Class<?> user) {
        return AopUtils.getMostSpecificMethod(method, user);
    }

    private static List<Class<?>> hierarchy(Class<?> user) {
        List<Class<?>> types = new ArrayList<>();
        for (Class<?> type = user; type != null && type != Object.class; type = type.getSuperclass()) {
            types.add(type);
        }
        types.addAll(ClassUtils.getAllInterfacesForClassAsSet(user));
        return types;
    }
}
