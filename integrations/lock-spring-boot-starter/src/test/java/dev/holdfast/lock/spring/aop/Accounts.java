package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** An account in a database, whose methods are guarded by one lock. */
class Accounts {
    private final JdbcTemplate jdbc;
    private final LockClient client;
    /** Null until a transaction that was observed has ended: what fails then is logged only. */
    private volatile Boolean freeAfterCommit;

    private volatile Lease lease;
    private volatile CompletableFuture<String> begun;

    Accounts(JdbcTemplate jdbc, LockClient client) {
        this.jdbc = jdbc;
        this.client = client;
    }

    /** An application with accounts and an empty database. */
    static ApplicationContextRunner in(LockedApplication application, Class<?>... more) {
        Class<?>[] beans = Arrays.copyOf(more, more.length + 1);
        beans[more.length] = Accounts.class;
        return application
                .with(beans)
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        JdbcTemplateAutoConfiguration.class,
                        JdbcClientAutoConfiguration.class,
                        TransactionAutoConfiguration.class))
                .withPropertyValues(
                        "spring.datasource.url=jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1",
                        "spring.datasource.hikari.maximum-pool-size=8");
    }

    /** Returns the application's accounts, with their table. */
    static Accounts created(ApplicationContext context) {
        Accounts accounts = context.getBean(Accounts.class);
        accounts.create();
        return accounts;
    }

    public Boolean freeAfterCommit() {
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
                freeAfterCommit =
                        application.isFree("account") || !client.lock("account").isHeldByCurrentThread();
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
