package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.LockTemplate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Locks and transactions of a real database: redisson#2183. */
@ExtendWith(OutputCaptureExtension.class)
class LockedTransactionTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = Accounts.in(application, Teller.class);

    @Test
    void lock_isOutsideOfTheTransaction() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            accounts.observe(application);
            assertThat(accounts.freeAfterCommit()).isFalse();
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    void readModifyWrite_losesNothing() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            LostUpdates.count(4, 50, accounts::increment, context.getBean(JdbcTemplate.class));
        });
    }

    @Test
    void readModifyWrite_withinATransaction_losesNothing() {
        runner.run(context -> {
            Accounts.created(context);
            Teller teller = context.getBean(Teller.class);
            LostUpdates.count(4, 25, teller::incrementWithin, context.getBean(JdbcTemplate.class));
        });
    }

    @Test
    void withinATransaction_theLockIsKept_untilThatHasCompleted() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            transaction.executeWithoutResult(status -> {
                accounts.incrementAlone();
                assertThat(application.isFree("account")).isFalse();
                accounts.incrementAlone(); // re-enters
                assertThat(CurrentLease.find()).isEmpty();
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        assertThat(application.isFree("account")).isFalse();
                    }
                });
            });
            assertThat(application.isFree("account")).isTrue();
            assertThat(accounts.value()).isEqualTo(2);
            transaction.executeWithoutResult(status -> {
                accounts.incrementAlone();
                status.setRollbackOnly();
            });
            assertThat(application.isFree("account")).isTrue();
            assertThat(accounts.value()).isEqualTo(2);
        });
    }

    @Test
    void commit_isRefused_ifTheLeaseWasLost() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> {
                        accounts.incrementAlone();
                        application.lose(accounts.lease());
                    }))
                    .isInstanceOf(LeaseLostException.class);
            assertThat(accounts.value()).isZero();
            assertThat(application.isFree("account")).isTrue();

            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> {
                        accounts.future();
                        application.lose(accounts.lease());
                    }))
                    .isInstanceOf(LeaseLostException.class);
        });
    }

    @Test
    void loss_withinATransaction_isThrownByTheMethod_orSuppressedIntoItsException() {
        runner.run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            transaction.executeWithoutResult(status -> {
                assertThatThrownBy(() -> accounts.run(() -> application.lose(CurrentLease.require())))
                        .isInstanceOf(LeaseLostException.class);
                status.setRollbackOnly();
            });
            IllegalStateException own = new IllegalStateException();
            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> accounts.run(() -> {
                        application.lose(CurrentLease.require());
                        throw own;
                    })))
                    .isSameAs(own);
            assertThat(own.getSuppressed()).hasAtLeastOneElementOfType(LeaseLostException.class);
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    void template_followsTheSameRules() {
        runner.run(context -> {
            LockTemplate template = context.getBean(LockTemplate.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                template.run("account", lease -> {});
                assertThat(application.isFree("account")).isFalse();
            });
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    void withinATransaction_itIsRefused_ifThePropertySaysSo() {
        runner.withPropertyValues("holdfast.annotation.in-transaction=fail").run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            long before = application.store.commands();
            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> accounts.incrementAlone()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Accounts.incrementAlone")
                    .hasMessageContaining("outside of the transaction");
            assertThat(application.store.commands()).isEqualTo(before);
            accounts.increment();
            assertThat(accounts.value()).isEqualTo(1);
        });
    }

    @Test
    void withinATransaction_itIsWarnedOfOnce_ifThePropertySaysSo(CapturedOutput output) {
        runner.withPropertyValues("holdfast.annotation.in-transaction=warn").run(context -> {
            Accounts accounts = Accounts.created(context);
            TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
            for (int i = 0; i < 3; i++) {
                transaction.executeWithoutResult(status -> {
                    accounts.incrementAlone();
                    assertThat(application.isFree("account")).isFalse();
                });
            }
            assertThat(output.getAll().split("Accounts.incrementAlone is called within a transaction", -1))
                    .hasSize(2);
        });
    }

    @Test
    void transaction_thatWouldBeginBeforeTheLock_isRefusedAtStartUp() {
        application
                .with(Accounts.class, OuterTransactions.class)
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        JdbcTemplateAutoConfiguration.class))
                .withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + System.nanoTime())
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@Locked cannot work at ")
                        .hasStackTraceContaining("Accounts")
                        .hasStackTraceContaining("lower holdfast.annotation.order"));
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(order = 0, proxyTargetClass = true)
    static class OuterTransactions {}

    static class Teller {
        private final Accounts accounts;

        Teller(Accounts accounts) {
            this.accounts = accounts;
        }

        @Transactional
        public void incrementWithin() {
            accounts.incrementAlone();
        }
    }
}
