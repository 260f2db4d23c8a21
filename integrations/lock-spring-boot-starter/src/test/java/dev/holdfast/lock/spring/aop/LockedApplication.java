package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.LockedAutoConfiguration;
import dev.holdfast.lock.testkit.fault.FaultyBackend;
import java.time.Duration;
import java.util.Optional;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.StringUtils;

/** An application with annotated beans and a store in memory that can fail. */
public final class LockedApplication {
    /** What is behind its client. */
    public final MemoryStore store = MemoryStore.create();

    /** The way there. */
    public final FaultyBackend backend = new FaultyBackend(store.newBackend());

    /** Runs it with beans of these classes. */
    public ApplicationContextRunner with(Class<?>... beans) {
        ApplicationContextRunner runner = new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        AopAutoConfiguration.class, HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
                .withBean("lockClient", LockClient.class, this::client);
        for (Class<?> bean : beans) {
            runner = register(runner, bean);
        }
        return runner;
    }

    private static <T> ApplicationContextRunner register(ApplicationContextRunner runner, Class<T> bean) {
        return bean.isAnnotationPresent(Configuration.class)
                ? runner.withUserConfiguration(bean)
                : runner.withBean(StringUtils.uncapitalize(bean.getSimpleName()), bean);
    }

    private LockClient client() {
        return LockEngine.client(
                backend,
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofMillis(300))
                        .unavailableTimeout(Duration.ofMillis(500))
                        .build());
    }

    /** Another process. */
    public LockClient other() {
        return store.newClient(LockClientOptions.defaults());
    }

    /** Ends a grant on the store, and waits until its holder has noticed: asking for more validity than is left renews at once. */
    public void lose(Lease lease) {
        store.expire(lease.name());
        assertThatThrownBy(() -> {
                    lease.ensure(lease.remaining());
                    await().atMost(Duration.ofSeconds(20)).until(() -> !lease.isValid());
                    lease.ensure(Duration.ZERO);
                })
                .isInstanceOf(LeaseLostException.class);
    }

    /** Returns whether a lock has neither holders nor waiters. */
    public boolean isFree(String name) {
        try (LockClient other = other()) {
            return other.lock(name)
                    .tryAcquire()
                    .map(lease -> {
                        lease.close();
                        return true;
                    })
                    .equals(Optional.of(true));
        }
    }
}
