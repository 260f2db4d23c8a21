package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.Locked;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.type.classreading.SimpleMetadataReaderFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Looks for methods with the annotation, or with one that has it, at classes, their base classes and interfaces. It leaves out
 * none: Spring looks at the methods of every bean too, so this costs little in addition. Each type and each kind of annotation is
 * looked at once. Thread-safe.
 */
final class LockedSearch {
    private static final Logger LOG = LoggerFactory.getLogger(LockedSearch.class);

    private final Map<Class<?>, List<Method>> types = new ConcurrentHashMap<>();
    private final Map<Class<? extends Annotation>, Boolean> annotations = new ConcurrentHashMap<>();

    /**
     * Returns the methods where the annotation stands, of the class itself first, then of base classes, then of interfaces.
     *
     * @throws IllegalStateException if one of these names a class that is missing, and has the annotation: it must not run without
     *     its locks
     */
    List<Method> methods(Class<?> user) {
        List<Method> found = List.of();
        for (Class<?> type = user; type != null && type != Object.class; type = type.getSuperclass()) {
            found = joined(found, declared(type));
        }
        for (Class<?> type : interfaces(user)) {
            found = joined(found, declared(type));
        }
        return found;
    }

    private static List<Method> joined(List<Method> first, List<Method> second) {
        if (first.isEmpty() || second.isEmpty()) {
            return first.isEmpty() ? second : first;
        }
        List<Method> both = new ArrayList<>(first);
        both.addAll(second);
        return both;
    }

    private List<Method> declared(Class<?> type) {
        List<Method> known = types.get(type);
        if (known == null) {
            known = AnnotationUtils.isCandidateClass(type, Locked.class) ? search(type) : List.of();
            types.put(type, known);
        }
        return known;
    }

    private List<Method> search(Class<?> type) {
        List<Method> found = new ArrayList<>();
        for (Method method : methodsOf(type)) {
            boolean own = method.getDeclaringClass() == type; // Spring adds the default methods of interfaces
            if (own && !method.isSynthetic() && hasAnnotation(method)) {
                found.add(method);
            }
        }
        return found.isEmpty() ? List.of() : List.copyOf(found);
    }

    private boolean hasAnnotation(Method method) {
        for (Annotation annotation : method.getDeclaredAnnotations()) {
            if (isLocked(annotation.annotationType())) {
                return true;
            }
        }
        return false;
    }

    private boolean isLocked(Class<? extends Annotation> annotation) {
        Boolean known = annotations.get(annotation);
        if (known == null) {
            known = annotation == Locked.class
                    || AnnotatedElementUtils.isAnnotated(annotation, Locked.class)
                    || isContainer(annotation);
            annotations.put(annotation, known);
        }
        return known;
    }

    /** Returns whether an annotation holds several of one that can be repeated. */
    private boolean isContainer(Class<? extends Annotation> annotation) {
        for (Method attribute : annotation.getDeclaredMethods()) {
            Class<?> element = attribute.getReturnType().getComponentType();
            if (attribute.getName().equals("value") && element != null && element.isAnnotation()) {
                return isLocked(element.asSubclass(Annotation.class));
            }
        }
        return false;
    }

    /** Returns the methods of a type; none if it names a class that is missing, as those with optional dependencies do. */
    private static Method[] methodsOf(Class<?> type) {
        try {
            return ReflectionUtils.getDeclaredMethods(type);
        } catch (IllegalStateException e) {
            if (!(e.getCause() instanceof LinkageError cause)) {
                throw e;
            }
            if (hasAnnotationInFile(type)) {
                throw refused(type, cause);
            }
            LOG.debug("{} cannot be linked, and is not looked at", type, cause);
            return new Method[0];
        }
    }

    private static IllegalStateException refused(Class<?> type, LinkageError cause) {
        return new IllegalStateException(
                "@Locked cannot work at " + type.getName() + ": a class that it names is missing, " + cause.getMessage()
                        + "; add the library, or move the locked methods to another class",
                cause);
    }

    private static boolean hasAnnotationInFile(Class<?> type) {
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

    /** Returns the class of a bean; null if it has none of its own, or none that is known or can be loaded. */
    static @Nullable Class<?> classOf(ConfigurableListableBeanFactory beans, String name) {
        try {
            if (ScopedProxyUtils.isScopedTarget(name)
                    || beans.getMergedBeanDefinition(name).isAbstract()) {
                return null;
            }
            return AutoProxyUtils.determineTargetClass(beans, name);
        } catch (BeansException | LinkageError e) {
            LOG.debug("bean '{}' has no class that could be loaded, and is not looked at", name, e);
            return null;
        }
    }

    /** Returns all interfaces of a class, those first that are nearest to it. Spring's method omits those that interfaces extend. */
    static Set<Class<?>> interfaces(Class<?> user) {
        Set<Class<?>> found = new LinkedHashSet<>(ClassUtils.getAllInterfacesForClassAsSet(user));
        for (Deque<Class<?>> left = new ArrayDeque<>(found); !left.isEmpty(); ) {
            for (Class<?> parent : left.remove().getInterfaces()) {
                if (found.add(parent)) {
                    left.add(parent);
                }
            }
        }
        return found;
    }
}
