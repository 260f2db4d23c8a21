package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.PostgresServer;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/** The same with PostgreSQL, where a transaction reads what was committed before its statement. */
class LostUpdatePostgresIT {
    @Test
    void readModifyWrite_losesNothing_inEitherOrder_andTheLostLeaseRefusesTheCommit() throws Exception {
        LockedApplication application = new LockedApplication();
        try (PostgresServer server = PostgresServer.start()) {
            application
                    .with(Accounts.class, LockedTransactionTest.Teller.class)
                    .withConfiguration(AutoConfigurations.of(
                            DataSourceAutoConfiguration.class,
                            DataSourceTransactionManagerAutoConfiguration.class,
                            JdbcTemplateAutoConfiguration.class,
                            TransactionAutoConfiguration.class))
                    .withPropertyValues(
                            "spring.datasource.url=" + server.url(),
                            "spring.datasource.username=" + PostgresServer.USER,
                            "spring.datasource.password=" + PostgresServer.PASSWORD,
                            "spring.datasource.hikari.maximum-pool-size=6")
                    .run(context -> {
                        Accounts accounts = context.getBean(Accounts.class);
                        JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
                        accounts.create();
                        LostUpdates.count(4, 50, accounts::increment, jdbc);
                        jdbc.update("UPDATE account SET amount = 0");
                        LostUpdates.count(
                                4, 50, context.getBean(LockedTransactionTest.Teller.class)::incrementWithin, jdbc);
                        assertThatThrownBy(() -> context.getBean(TransactionTemplate.class)
                                        .executeWithoutResult(status -> {
                                            accounts.incrementAlone();
                                            context.getBean(LockClient.class).close();
                                        }))
                                .isInstanceOf(LeaseLostException.class);
                        assertThat(accounts.value()).isEqualTo(200);
                    });
        }
    }
}
