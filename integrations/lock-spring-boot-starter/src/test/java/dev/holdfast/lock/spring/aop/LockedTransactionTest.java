package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Locks and transactions of a real database: redisson#2183. */
@ExtendWith(OutputCaptureExtension.class)
class LockedTransactionTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = application
            .with(Accounts.class, Teller.class)
            .withConfiguration(AutoConfigurations.of(
                    DataSourceAutoConfiguration.class,
                    DataSourceTransactionManagerAutoConfiguration.class,
                    JdbcTemplateAutoConfiguration.class,
                    JdbcClientAutoConfiguration.class,
                    TransactionAutoConfiguration.class))
            .withPropertyValues(
                    "spring.datasource.url=jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1",
                    "spring.datasource.hikari.maximum-pool-size=8");

    @Test
    void lock_isOutsideOfTheTransaction() {
        runner.run(context -> {
            Accounts accounts = accounts(context.getBean(Accounts.class));
            accounts.observe(application);
            assertThat(accounts.freeAfterCommit()).isFalse();
            assertThat(application.isFree("account")).isTrue();
        });
    }

    @Test
    void readModifyWrite_losesNothing() {
        runner.run(context -> {
            Accounts accounts = accounts(context.getBean(Accounts.class));
            LostUpdates.count(4, 50, accounts::increment, context.getBean(JdbcTemplate.class));
        });
    }

    @Test
    void readModifyWrite_withinATransaction_losesNothing() {
        runner.run(context -> {
            accounts(context.getBean(Accounts.class));
            Teller teller = context.getBean(Teller.class);
            LostUpdates.count(4, 25, teller::incrementWithin, context.getBean(JdbcTemplate.class));
        });
    }

    @Test
    void withinATransaction_theLockIsKept_untilThatHasCompleted() {
        runner.run(context -> {
            Accounts accounts = accounts(context.getBean(Accounts.class));
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
            Accounts accounts = accounts(context.getBean(Accounts.class));
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
            Accounts accounts = accounts(context.getBean(Accounts.class));
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
    void future_withinATransaction_isReleasedWhenBothAreOver() {
        runner.run(context -> {
            Accounts accounts = accounts(context.getBean(Accounts.class));
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

    @Test
    @Timeout(60)
    void futures_oneAfterTheOther_withinATransaction_shareTheLease() {
        runner.run(context -> {
            Accounts accounts = accounts(context.getBean(Accounts.class));
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
            Accounts accounts = accounts(context.getBean(Accounts.class));
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
            Accounts accounts = accounts(context.getBean(Accounts.class));
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

    private static Accounts accounts(Accounts accounts) {
        accounts.create();
        return accounts;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(order = 0, proxyTargetClass = true)
    static class OuterTransactions {}

    static class Accounts {
        private final JdbcTemplate jdbc;
        private final LockClient client;
        private volatile boolean freeAfterCommit;
        private volatile Lease lease;
        private volatile CompletableFuture<String> begun;

        Accounts(JdbcTemplate jdbc, LockClient client) {
            this.jdbc = jdbc;
            this.client = client;
        }

        public boolean freeAfterCommit() {
            return freeAfterCommit;
        }

        public Lease lease() {
            return lease;
        }

        public CompletableFuture<String> begun() {
            return begun;
        }

        public void create() {
            jdbc.execute("CREATE TABLE account (id INT PRIMARY KEY, amount INT)");
            jdbc.update("INSERT INTO account VALUES (1, 0)");
        }

        public int value() {
            return LostUpdates.read(jdbc);
        }

        @Locked("account")
        @Transactional
        public void increment() {
            assertThat(TransactionSynchronizationManager.isActualTransactionActive())
                    .isTrue();
            LostUpdates.readModifyWrite(jdbc);
        }

        @Locked("account")
        public void incrementAlone() {
            lease = CurrentLease.require();
            LostUpdates.readModifyWrite(jdbc);
        }

        @Locked("account")
        public void run(Runnable work) {
            work.run();
        }

        @Locked("account")
        @Transactional(propagation = Propagation.REQUIRED)
        public void observe(LockedApplication application) {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int status) {
                    freeAfterCommit = application.isFree("account")
                            || !client.lock("account").isHeldByCurrentThread();
                }
            });
        }

        @Locked("account")
        public CompletableFuture<String> future(CompletableFuture<String> work) {
            return work;
        }

        @Locked("account")
        public CompletableFuture<String> future() {
            lease = CurrentLease.require();
            begun = new CompletableFuture<>();
            return begun;
        }
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
