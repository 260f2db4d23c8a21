package dev.holdfast.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** The application runs: once alone, and as two instances on one database. */
class ShopApplicationTest {
    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    @Test
    void withdraw_byManyThreads_neverOverdraws() throws Exception {
        try (ConfigurableApplicationContext shop = start("always")) {
            Accounts accounts = shop.getBean(Accounts.class);
            ExecutorService executor = Executors.newFixedThreadPool(5);
            List<Future<?>> withdrawals = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                withdrawals.add(executor.submit(() -> accounts.withdraw(1, 10)));
            }
            int refused = 0;
            for (Future<?> withdrawal : withdrawals) {
                try {
                    withdrawal.get();
                } catch (ExecutionException e) {
                    assertThat(e.getCause())
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessage("account 1 has 0, not 10");
                    refused++;
                }
            }
            executor.shutdown();

            assertThat(refused).as("refused of 20 withdrawals of 10 from 100").isEqualTo(10);
            assertThat(accounts.balance(1)).isZero();
        }
    }

    @Test
    void nightlyReport_onTwoInstances_runsOnce() {
        try (ConfigurableApplicationContext one = start("always");
                ConfigurableApplicationContext other = start("never")) {
            one.getBean(NightlyReport.class).run();
            other.getBean(NightlyReport.class).run();

            assertThat(one.getBean(NightlyReport.class).runs()).isEqualTo(1);
            assertThat(other.getBean(NightlyReport.class).runs()).isZero();
            assertThat(other.getBean(LockClient.class).holder("jobs/nightly-report"))
                    .hasValueSatisfying(holder -> assertThat(holder.who()).isEqualTo("shop"));
        }
    }

    private ConfigurableApplicationContext start(String initialisation) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .properties("spring.main.banner-mode=off")
                .run("--server.port=0", "--spring.datasource.url=" + url, "--spring.sql.init.mode=" + initialisation);
    }
}
