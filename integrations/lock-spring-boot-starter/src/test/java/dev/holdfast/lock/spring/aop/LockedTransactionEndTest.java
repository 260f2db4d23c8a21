package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionTemplate;

/** Futures within transactions, which end after one another in any order, and listeners to a transaction's end. */
class LockedTransactionEndTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = Accounts.in(application);

    @Test
    void future_withinATransaction_isReleasedWhenBothAreOver() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = transaction.execute(status -> accounts.future(work));
            assertThat(application.isFree("account")).isFalse();
            work.complete("");
            result.get(20, TimeUnit.SECONDS);
            assertThat(application.isFree("account")).isTrue();
            transaction.executeWithoutResult(status -> {
                accounts.future(CompletableFuture.completedFuture(""));
                assertThat(application.isFree("account")).isFalse();
            });
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    @Timeout(60)
    void futures_oneAfterTheOther_withinATransaction_shareTheLease() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            CompletableFuture<String> result = transaction.execute(status -> {
                CompletableFuture<String> first = accounts.future();
                long token = accounts.lease().token();
                assertThat(accounts.future(CompletableFuture.completedFuture("x")))
                        .isCompletedWithValue("x");
                accounts.incrementAlone();
                assertThat(accounts.lease().token()).isEqualTo(token);
                accounts.begun().complete("");
                assertThat(application.isFree("account")).isFalse();
                return first;
            });
            result.get(20, TimeUnit.SECONDS);
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    void listener_afterTheCommit_isLocked() {
        application
                .with(Listener.class)
                .withUserConfiguration(Events.class)
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        JdbcTemplateAutoConfiguration.class,
                        TransactionAutoConfiguration.class))
                .withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + System.nanoTime())
                .run(context -> {
                    Listener listener = context.getBean(Listener.class);
                    context.getBean(TransactionTemplate.class)
                            .executeWithoutResult(status -> context.publishEvent("stock"));
                    assertThat(listener.names()).containsExactly("stock", "template");
                    assertThat(application.isFree("stock")).isTrue();
                    assertThat(application.isFree("template")).isTrue();
                });
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    static class Events {}

    static class Listener {
        private final LockTemplate template;
        private final List<String> names = new CopyOnWriteArrayList<>();

        Listener(LockTemplate template) {
            this.template = template;
        }

        public List<String> names() {
            return names;
        }

        @TransactionalEventListener
        @Locked("#{#name}")
        public void on(String name) {
            names.add(CurrentLease.require().name());
            template.run("template", lease -> names.add(lease.name()));
        }
    }
}
