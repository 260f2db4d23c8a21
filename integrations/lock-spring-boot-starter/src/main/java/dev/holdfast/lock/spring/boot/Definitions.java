package dev.holdfast.lock.spring.boot;

import java.util.List;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.util.StringUtils;

/**
 * Defines beans that static methods of a class make. Methods with annotations for the same, and conditions at each, would have to be
 * read at every start, which takes several times as long. Not thread-safe.
 */
public final class Definitions {
    private final BeanDefinitionRegistry registry;
    private final ConfigurableListableBeanFactory beans;
    private final Class<?> factory;

    /**
     * Creates it.
     *
     * @param registry where the beans are defined; Spring's own factory of beans
     * @param factory has a static method for each bean, with the bean's name
     */
    public Definitions(BeanDefinitionRegistry registry, Class<?> factory) {
        this.registry = registry;
        this.beans = (ConfigurableListableBeanFactory) registry;
        this.factory = factory;
    }

    /**
     * Returns whether the application has no bean of a type so far that could be injected.
     *
     * @param type the type
     * @return true if there is none
     */
    public boolean isMissing(Class<?> type) {
        return OnlyBean.names(type, beans).isEmpty();
    }

    /**
     * Returns whether the application has one bean of a type so far, or a primary one.
     *
     * @param type the type
     * @return true if one of them could be injected
     */
    public boolean isUnique(Class<?> type) {
        List<String> names = OnlyBean.names(type, beans);
        return names.size() == 1
                || names.stream()
                        .anyMatch(name -> beans.containsBeanDefinition(name)
                                && beans.getBeanDefinition(name).isPrimary());
    }

    /**
     * Defines a bean, unless there is one of its type.
     *
     * @param name of the bean and its method
     * @param type the type
     * @param lazy whether it is created on first use
     */
    public void addIfMissing(String name, Class<?> type, boolean lazy) {
        if (isMissing(type)) {
            add(name, type, lazy);
        }
    }

    /**
     * Defines a bean.
     *
     * @param name of the bean and its method; with {@code holdfast} before it if the application has a bean of this name
     * @param type the type
     * @param lazy whether it is created on first use
     */
    public void add(String name, Class<?> type, boolean lazy) {
        define(name, type, lazy);
    }

    private RootBeanDefinition define(String name, Class<?> type, boolean lazy) {
        RootBeanDefinition definition = new RootBeanDefinition(factory);
        definition.setTargetType(type);
        definition.setUniqueFactoryMethodName(name);
        definition.setAutowireMode(AbstractBeanDefinition.AUTOWIRE_CONSTRUCTOR);
        definition.setDestroyMethodName(AbstractBeanDefinition.INFER_METHOD);
        definition.setLazyInit(lazy);
        registry.registerBeanDefinition(freeName(name), definition);
        return definition;
    }

    /** A bean of the application with the same name, which is of another type, stays what it is. */
    private String freeName(String name) {
        return registry.containsBeanDefinition(name) ? "holdfast" + StringUtils.capitalize(name) : name;
    }

    /**
     * Defines a bean of Spring's machinery, which is made before those of the application.
     *
     * @param name of the bean and its method
     * @param type the type
     */
    public void addInfrastructure(String name, Class<?> type) {
        define(name, type, false).setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
    }
}
