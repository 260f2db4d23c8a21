package dev.holdfast.lock.spring.aop;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Refuses annotated methods of a bean that could not work: options and clients that there are not, beans that have no proxy or one
 * that does not have the method, and transactions that begin outside of the lock.
 */
final class LockedStartUpCheck {
    private final ConfigurableListableBeanFactory beans;
    private final Advisor advisor;
    private final LockedMethods methods;
    private final LockedInterceptor interceptor;

    LockedStartUpCheck(
            ConfigurableListableBeanFactory beans,
            Advisor advisor,
            LockedMethods methods,
            LockedInterceptor interceptor) {
        this.beans = beans;
        this.advisor = advisor;
        this.methods = methods;
        this.interceptor = interceptor;
    }

    /**
     * Checks.
     *
     * @throws IllegalStateException if an annotation could not work; the message has the method
     */
    void check(String name, Collection<LockedMethod> annotated) {
        for (LockedMethod method : annotated) {
            try {
                interceptor.check(method);
                if (beans.containsSingleton(name) && beans.isSingleton(name)) {
                    checkProxy(beans.getSingleton(name), method);
                }
            } catch (RuntimeException e) {
                throw e instanceof IllegalStateException refused
                                && refused.getMessage() != null
                                && refused.getMessage().startsWith("@Locked")
                        ? refused
                        : LockedMethodReader.refused(method.method(), e.getMessage(), e);
            }
        }
    }

    private void checkProxy(@Nullable Object bean, LockedMethod method) {
        if (bean == null || !method.method().getDeclaringClass().isAssignableFrom(AopUtils.getTargetClass(bean))) {
            return; // a factory bean, whose products are checked when they are made
        }
        Advised advised = advised(bean);
        if (advised == null) {
            throw LockedMethodReader.refused(
                    method.method(),
                    "its bean has no proxy with the lock, because a BeanPostProcessor needs the bean before there are proxies; "
                            + "let that look it up lazily",
                    null);
        }
        if (AopUtils.isJdkDynamicProxy(bean) && !isInterfaceMethod(bean, method)) {
            throw LockedMethodReader.refused(
                    method.method(),
                    "no interface of its bean's proxy has the method; add it to one, or let classes be proxied "
                            + "(spring.aop.proxy-target-class=true)",
                    null);
        }
        checkOrder(advised, method);
    }

    private boolean isInterfaceMethod(Object proxy, LockedMethod method) {
        Class<?> target = AopUtils.getTargetClass(proxy);
        return Arrays.stream(ClassUtils.getAllInterfaces(proxy))
                .flatMap(type -> Arrays.stream(type.getMethods()))
                .map(candidate -> methods.find(candidate, target))
                .anyMatch(found -> found != null && found.method().equals(method.method()));
    }

    /** Returns the proxy that has the advice: the bean, or what it stands for; null if there is none. */
    private @Nullable Advised advised(@Nullable Object bean) {
        Object at = bean;
        while (at instanceof Advised advised) {
            if (List.of(advised.getAdvisors()).contains(advisor)) {
                return advised;
            }
            at = AopProxyUtils.getSingletonTarget(advised);
        }
        return null;
    }

    private void checkOrder(Advised advised, LockedMethod method) {
        for (Advisor other : advised.getAdvisors()) {
            if (other == advisor) {
                return;
            }
            if (other.getClass().getSimpleName().equals("BeanFactoryTransactionAttributeSourceAdvisor")
                    && other instanceof PointcutAdvisor pointcut
                    && pointcut.getPointcut()
                            .getMethodMatcher()
                            .matches(method.method(), method.method().getDeclaringClass())) {
                throw LockedMethodReader.refused(
                        method.method(),
                        "its transaction would begin before the lock is acquired and end after it is released; "
                                + "lower holdfast.annotation.order below that of @EnableTransactionManagement",
                        null);
            }
        }
    }
}
