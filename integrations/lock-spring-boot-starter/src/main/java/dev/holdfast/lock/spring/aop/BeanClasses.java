package dev.holdfast.lock.spring.aop;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/** The classes of an application's beans, without making one, and their interfaces. */
final class BeanClasses {
    private static final Logger LOG = LoggerFactory.getLogger(BeanClasses.class);

    private BeanClasses() {}

    /** Returns the class of a bean; null if it has none of its own, or none that is known or can be loaded. */
    static @Nullable Class<?> of(ConfigurableListableBeanFactory beans, String name) {
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
