package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.SkippedCallEvent;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;

/**
 * Puts the advice around the methods with the annotation. Its place among the advices of a method is what makes transactions
 * right: outside of {@code @Transactional}, whose order is the lowest precedence, and inside of what repeats or moves a call.
 *
 * <p>When the application has started, it reads the annotations of all beans, those of lazy ones and of prototypes too, and refuses
 * what could not work ({@link LockedStartUpCheck}). An application without annotated methods does not load what works on them.
 */
public final class LockedAdvisor extends AbstractPointcutAdvisor
        implements BeanFactoryAware, SmartInitializingSingleton {
    private static final long serialVersionUID = 1L;

    /**
     * The order of the advice: just outside of transactions. Spring Retry's advice has the same order and stays outside since
     * it is registered by the application, before auto-configurations; the other advices that repeat or move a call always put
     * themselves first.
     */
    public static final int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 1;

    private final transient AtomicReference<@Nullable LockedInterceptor> interceptor = new AtomicReference<>();
    private final transient Pointcut pointcut = new LockedPointcut(this);
    private transient @Nullable ConfigurableListableBeanFactory beans;
    private transient @Nullable LockedMethods methods;

    /**
     * Creates the advisor.
     *
     * @param order its place among the advices
     */
    public LockedAdvisor(int order) {
        setOrder(order);
    }

    /** Takes the application's beans, among which it looks up the client and the rest at the first call. */
    @Override
    public void setBeanFactory(BeanFactory factory) {
        beans = (ConfigurableListableBeanFactory) factory;
        methods = new LockedMethods(beans);
    }

    private ConfigurableListableBeanFactory beans() {
        return Objects.requireNonNull(beans, "setBeanFactory comes first");
    }

    LockedMethods methods() {
        return Objects.requireNonNull(methods, "setBeanFactory comes first");
    }

    LockedInterceptor interceptor() {
        LockedInterceptor known = interceptor.get();
        if (known != null) {
            return known;
        }
        LockedInterceptor first = new LockedInterceptor(methods(), beans());
        LockedInterceptor other = interceptor.compareAndExchange(null, first);
        return other == null ? first : other;
    }

    /**
     * Checks the annotations.
     *
     * @throws IllegalStateException if one could not work; the message has the method
     */
    @Override
    public void afterSingletonsInstantiated() {
        for (String name : beans().getBeanDefinitionNames()) {
            Class<?> type = LockedSearch.classOf(beans(), name);
            Map<Method, LockedMethod> found =
                    type == null ? Map.of() : methods().of(type);
            if (!found.isEmpty()) {
                new LockedStartUpCheck(beans(), this, methods(), interceptor()).check(name, found.values());
            }
        }
    }

    @Override
    public Pointcut getPointcut() {
        return pointcut;
    }

    @Override
    public LockedInterceptor getAdvice() {
        return interceptor();
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
        private final LockedAdvisor advisor;

        LockedPointcut(LockedAdvisor advisor) {
            this.advisor = advisor;
            setClassFilter(this);
        }

        @Override
        public boolean matches(Class<?> type) {
            return !advisor.methods().of(type).isEmpty();
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return advisor.methods().find(method, targetClass) != null;
        }
    }

    /**
     * What all annotated methods have in common. Immutable.
     *
     * @param waitFor how long a call waits for its lock; null for as long as it takes
     * @param onSkip called after a call was skipped
     */
    public record Defaults(@Nullable Duration waitFor, Consumer<SkippedCallEvent> onSkip) {}
}
