package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.task.AsyncTaskExecutor;

/** An application on virtual threads, {@code spring.threads.virtual.enabled}. */
@Tag("virtual-threads")
class VirtualThreadsTest {

    @Test
    void tasksOnVirtualThreads_takeTurns() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        HoldfastAutoConfiguration.class,
                        DataSourceAutoConfiguration.class,
                        TaskExecutionAutoConfiguration.class))
                .withPropertyValues("spring.threads.virtual.enabled=true")
                .run(context -> {
                    DistributedLock lock = context.getBean(LockClient.class).lock("turns");
                    AsyncTaskExecutor executor = context.getBean(AsyncTaskExecutor.class);
                    AtomicInteger inside = new AtomicInteger();
                    List<Future<Boolean>> tasks = new ArrayList<>();
                    for (int i = 0; i < 500; i++) {
                        tasks.add(executor.submit(() -> {
                            lock.lock();
                            try {
                                assertThat(inside.incrementAndGet()).isEqualTo(1);
                                Thread.yield();
                                inside.decrementAndGet();
                                return (Boolean)
                                        Thread.class.getMethod("isVirtual").invoke(Thread.currentThread());
                            } finally {
                                lock.unlock();
                            }
                        }));
                    }
                    for (Future<Boolean> task : tasks) {
                        assertThat(task.get(60, TimeUnit.SECONDS)).as("virtual").isTrue();
                    }
                });
    }
}
