package dev.holdfast.lock.spring.aop;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;

/**
 * Puts the advice around the methods with the annotation. Its place among the advices of a method is what makes transactions
 * right: outside of {@code @Transactional}, whose order is the lowest precedence, and inside of what repeats or moves a call.
 */
public final class LockedAdvisor extends AbstractPointcutAdvisor {
    private static final long serialVersionUID = 1L;

    /**
     * The order of the advice: just outside of transactions. Spring Retry's advice has the same order and stays outside since
     * it is registered by the application, before auto-configurations; the other advices that repeat or move a call always put
     * themselves first.
     */
    public static final int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 1;

    private final transient LockedMethods methods;
    private final transient LockedInterceptor interceptor;
    private final transient Pointcut pointcut;

    /**
     * Creates the advisor. It looks up the client and the rest at the first call.
     *
     * @param beans the application's beans
     * @param order its place among the advices
     */
    public LockedAdvisor(ConfigurableListableBeanFactory beans, int order) {
        methods = new LockedMethods(beans);
        interceptor = new LockedInterceptor(methods, beans);
        pointcut = new LockedPointcut(methods);
        setOrder(order);
    }

    LockedMethods methods() {
        return methods;
    }

    LockedInterceptor interceptor() {
        return interceptor;
    }

    @Override
    public Pointcut getPointcut() {
        return pointcut;
    }

    @Override
    public LockedInterceptor getAdvice() {
        return interceptor;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    /** Reading a class for the filter refuses its mistakes before the bean is used. */
    private static final class LockedPointcut extends StaticMethodMatcherPointcut implements ClassFilter {
        private final LockedMethods methods;

        LockedPointcut(LockedMethods methods) {
            this.methods = methods;
            setClassFilter(this);
        }

        @Override
        public boolean matches(Class<?> type) {
            return !methods.of(type).isEmpty();
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return methods.find(method, targetClass) != null;
        }
    }
}
