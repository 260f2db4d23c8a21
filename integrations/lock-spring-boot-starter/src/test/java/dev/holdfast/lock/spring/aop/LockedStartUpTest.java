package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.context.annotation.Scope;
import org.springframework.core.PriorityOrdered;
import reactor.core.publisher.Mono;

/** Which beans are looked at when the application starts, and which are refused. {@link LockedMistakesTest} has the annotations. */
class LockedStartUpTest {
    private final LockedApplication application = new LockedApplication();

    @Test
    void mistake_ofALazyBeanAndOfAPrototype_isRefused() {
        application
                .with(LazyMistake.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("PrivateMethod"));
        application
                .with(PrototypeMistake.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("PrivateMethod"));
    }

    @Test
    void mistake_behindAnInterface_isRefusedWhenTheBeanIsMade() {
        application
                .with(HiddenMistake.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("Hidden.run(): a proxy cannot see calls of a method that is final"));
    }

    @Test
    void bean_thatIsMadeBeforeThereAreProxies_isRefused() {
        application
                .with(Early.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("a BeanPostProcessor needs the bean before there are proxies"));
    }

    @Test
    void method_thatAJdkProxyDoesNotHave_isRefused() {
        application
                .with(NotInTheInterface.class)
                .withPropertyValues("spring.aop.proxy-target-class=false")
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("NotInTheInterface.other(): no interface of its bean's proxy"));
        application
                .with(NotInTheInterface.class)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void lazyBean_ofAFactoryThatIsNotThere_doesNotEndTheStart() {
        application
                .with(Right.class)
                .withInitializer(context -> {
                    RootBeanDefinition missing = new RootBeanDefinition();
                    missing.setFactoryBeanName("nowhere");
                    missing.setFactoryMethodName("make");
                    missing.setLazyInit(true);
                    ((BeanDefinitionRegistry) context.getBeanFactory()).registerBeanDefinition("missing", missing);
                })
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void lazyBean_thatCannotBeLinked_doesNotEndTheStart_unlessItHasTheAnnotation() throws Exception {
        application
                .with(Right.class)
                .withBean("unlinked", Object.class, Object::new, lazy(unlinked(Unlinked.class)))
                .run(context -> assertThat(context).hasNotFailed());
        application
                .with(Right.class)
                .withBean("unlinked", Object.class, Object::new, lazy(unlinked(LockedUnlinked.class)))
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked")
                        .hasStackTraceContaining("LockedUnlinked")
                        .hasStackTraceContaining("Absent"));
    }

    private static BeanDefinitionCustomizer lazy(Class<?> type) {
        return bean -> {
            bean.setLazyInit(true);
            ((AbstractBeanDefinition) bean).setBeanClass(type);
            ((AbstractBeanDefinition) bean).setInstanceSupplier(null);
        };
    }

    /** The class as loaded without an optional library that has the type of a parameter. */
    private static Class<?> unlinked(Class<?> type) throws Exception {
        return new ClassLoader(type.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.equals(Absent.class.getName())) {
                    throw new ClassNotFoundException(name);
                }
                return name.equals(type.getName()) ? define(name) : super.loadClass(name, resolve);
            }

            private Class<?> define(String name) throws ClassNotFoundException {
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                    byte[] bytes = in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        }.loadClass(type.getName());
    }

    static class Absent {}

    static class Unlinked {
        public void use(Absent absent) {}
    }

    static class LockedUnlinked {
        public void use(Absent absent) {}

        @Locked("a")
        public void run() {}
    }

    @Test
    void client_thatThereIsNot_isRefused() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class))
                .withBean(Right.class)
                .withUserConfiguration(AdviceAlone.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("there is no LockClient bean; set holdfast.uri or define one"));
    }

    @Test
    void mono_canAlwaysBeSkipped() {
        application.with(Right.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(application.store.commands()).isZero();
        });
    }

    static class Right {
        @LockedJob("a")
        public Mono<Integer> mono() {
            return Mono.just(1);
        }

        @LockedJob("a")
        public CompletableFuture<Integer> future() {
            return CompletableFuture.completedFuture(1);
        }

        @Locked(name = "#{#id}/x#y", waitFor = "0", lease = "PT20S", minHold = "100ms", maxHold = "1h")
        public int all(String id) {
            return 1;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class AdviceAlone {
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedAdvisor advisor() {
            return new LockedAdvisor(LockedAdvisor.DEFAULT_ORDER);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class LazyMistake {
        @Bean
        @Lazy
        LockedMistakesTest.PrivateMethod privateMethod() {
            return new LockedMistakesTest.PrivateMethod();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class PrototypeMistake {
        @Bean
        @Scope(BeanDefinition.SCOPE_PROTOTYPE)
        LockedMistakesTest.PrivateMethod privateMethod() {
            return new LockedMistakesTest.PrivateMethod();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class HiddenMistake {
        @Bean
        Runnable hidden() {
            return new Hidden();
        }
    }

    static class Hidden implements Runnable {
        @Override
        @Locked("a")
        public final void run() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class Early {
        @Bean
        Right right() {
            return new Right();
        }

        @Bean
        static First needsIt(ObjectProvider<Right> right) {
            right.getObject();
            return new First();
        }
    }

    static class First implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }
    }

    static class NotInTheInterface implements Runnable {
        @Override
        public void run() {}

        @Locked("a")
        public void other() {}
    }
}
