package dev.holdfast.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** The application runs: once alone, and as two instances on one database. */
class ShopApplicationTest {
    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    @Test
    void transfers_byManyThreads_inBothDirections_loseNothing_andNeverWaitForEachOther() throws Exception {
        try (ConfigurableApplicationContext shop = start("always")) {
            Accounts accounts = shop.getBean(Accounts.class);
            ExecutorService executor = Executors.newFixedThreadPool(5);
            List<Future<?>> transfers = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                boolean back = i % 3 == 2;
                transfers.add(executor.submit(() -> accounts.transfer(back ? 2 : 1, back ? 1 : 2, 10)));
            }
            int forth = 0;
            for (int i = 0; i < 30; i++) {
                try {
                    transfers.get(i).get();
                    forth += i % 3 == 2 ? -1 : 1;
                } catch (ExecutionException e) {
                    assertThat(e.getCause())
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageMatching("account [12] has 0, not 10");
                }
            }
            executor.shutdown();

            assertThat(accounts.balance(2)).isEqualTo(forth * 10L);
            assertThat(accounts.balance(1)).isEqualTo(100 - forth * 10L);
        }
    }

    @Test
    void statements_areNumberedWithoutGaps(@TempDir Path folder) throws Exception {
        try (ConfigurableApplicationContext shop = start("always", "--shop.statements=" + folder)) {
            Statements statements = shop.getBean(Statements.class);
            assertThat(statements.number(7)).isEqualTo(1);
            assertThat(statements.number(7)).isEqualTo(2);
            LockClient locks = shop.getBean(LockClient.class);
            CompletableFuture<Integer> waiting = new CompletableFuture<>();
            Lease elsewhere = locks.lock("statements/7").acquire();
            waiting.completeAsync(() -> {
                try {
                    return statements.number(7);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            await().until(() ->
                    locks.held().stream().anyMatch(usage -> !usage.waiters().isEmpty()));
            assertThat(waiting).isNotDone();
            elsewhere.close();
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(3);
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

    private ConfigurableApplicationContext start(String initialisation, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "--server.port=0", "--spring.datasource.url=" + url, "--spring.sql.init.mode=" + initialisation));
        arguments.add("--holdfast.request-timeout=20s"); // the first connection loads the pool and the driver
        arguments.addAll(List.of(more));
        return new SpringApplicationBuilder(ShopApplication.class)
                .properties("spring.main.banner-mode=off")
                .run(arguments.toArray(String[]::new));
    }
}
