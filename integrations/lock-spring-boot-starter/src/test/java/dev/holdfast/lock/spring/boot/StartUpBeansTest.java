package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spring.LockClientBuilderCustomizer;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.NamedLockOptions;
import dev.holdfast.lock.spring.hold.InTransaction;
import dev.holdfast.lock.spring.hold.LockedCalls;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** Which beans a start makes, which are left to the first call, and which give way to those of the application. */
class StartUpBeansTest {
    private static final String[] OF_THE_FIRST_CALL = {
        "holdfastLockTemplate", "holdfastLockedCalls", "holdfastLockedDefaults"
    };

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
            .withPropertyValues("holdfast.uri=memory:");

    @Test
    void start_makesTheClient_andLeavesTheRestToTheFirstCall() {
        runner.run(context -> {
            assertThat(context.getBeanFactory().containsSingleton("holdfastLockClient"))
                    .isTrue();
            for (String lazy : OF_THE_FIRST_CALL) {
                assertThat(context.containsBean(lazy)).as(lazy).isTrue();
                assertThat(context.getBeanFactory().containsSingleton(lazy))
                        .as(lazy)
                        .isFalse();
            }
            context.getBean(LockTemplate.class)
                    .run("a", lease -> assertThat(lease.isValid()).isTrue());
        });
    }

    @Test
    void beansOfTheApplication_replaceTheStarters() {
        LockOptions own = LockOptions.builder().lease(Duration.ofSeconds(77)).build();
        runner.withBean("ownNames", NamedLockOptions.class, () -> new NamedLockOptions(own, Map.of()))
                .withBean("ownCalls", LockedCalls.class, () -> new LockedCalls(InTransaction.FAIL))
                .run(context -> {
                    assertThat(context).hasSingleBean(NamedLockOptions.class).hasSingleBean(LockedCalls.class);
                    assertThat(context.getBean(LockClientOptions.class).lockOptions())
                            .isEqualTo(own);
                    assertThat(context.getBean(LockClient.class).lock("a").options())
                            .isEqualTo(own);
                });
        runner.withBean(
                        "ownOptions",
                        LockClientOptions.class,
                        () -> LockClientOptions.builder().who("own").build())
                .run(context -> assertThat(
                                context.getBean(LockClientOptions.class).who())
                        .isEqualTo("own"));
    }

    @Test
    void listeners_areRegisteredWithTheClient() {
        List<String> acquired = new CopyOnWriteArrayList<>();
        runner.withBean(LockListener.class, () -> new LockListener() {
                    @Override
                    public void acquired(String name, long token, Duration waited, boolean handedOff) {
                        acquired.add(name);
                    }
                })
                .run(context -> {
                    context.getBean(LockClient.class).lock("heard").acquire().close();
                    await().untilAsserted(() -> assertThat(acquired).containsExactly("heard"));
                });
    }

    @Test
    void lazyInitialization_leavesTheClientToItsFirstUse_andRegistersListenersThen() {
        List<String> acquired = new CopyOnWriteArrayList<>();
        runner.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withBean(LockListener.class, () -> new LockListener() {
                    @Override
                    public void acquired(String name, long token, Duration waited, boolean handedOff) {
                        acquired.add(name);
                    }
                })
                .run(context -> {
                    assertThat(context.getBeanFactory().containsSingleton("holdfastLockClient"))
                            .isFalse();
                    context.getBean(LockClient.class).lock("lazy").acquire().close();
                    await().untilAsserted(() -> assertThat(acquired).containsExactly("lazy"));
                });
    }

    @Test
    void customizers_changeTheBuilderOfTheirStore() {
        List<String> called = new CopyOnWriteArrayList<>();
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
                .withBean(
                        DataSource.class, () -> new DriverManagerDataSource("jdbc:h2:mem:customized;DB_CLOSE_DELAY=-1"))
                .withUserConfiguration(OfCustomizers.class)
                .withBean("called", List.class, () -> called)
                .withPropertyValues("holdfast.request-timeout=20s", "holdfast.jdbc.initialize-schema=always")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(called).containsExactly("jdbc");
                    DataSource dataSource = context.getBean(DataSource.class);
                    context.getBean(LockClient.class).lock("a").acquire();
                    try (var connection = dataSource.getConnection();
                            var statement = connection.createStatement()) {
                        assertThat(statement.execute("SELECT 1 FROM own_locks")).isTrue();
                    }
                });
    }

    @Configuration
    static class OfCustomizers {
        @Bean
        LockClientBuilderCustomizer<JdbcLocks.Builder> table(List<String> called) {
            return builder -> {
                called.add("jdbc");
                builder.table("own_locks");
            };
        }

        @Bean
        LockClientBuilderCustomizer<RedisLocks.Builder> prefix(List<String> called) {
            return builder -> called.add("redis");
        }
    }

    @Test
    void namesOfTheApplication_stayItsOwn() {
        runner.withBean("lockClient", String.class, () -> "mine")
                .withBean("lockTemplate", String.class, () -> "mine too")
                .withAllowBeanDefinitionOverriding(true)
                .run(context -> {
                    assertThat(context.getBean("lockClient")).isEqualTo("mine");
                    assertThat(context.getBean("lockTemplate")).isEqualTo("mine too");
                    context.getBean(LockTemplate.class).run("a", lease -> {});
                    assertThat(context).hasSingleBean(LockClient.class);
                });
    }

    @Test
    void severalClients_haveATemplateOnlyIfOneIsPrimary() {
        ApplicationContextRunner two = runner.withBean("one", LockClient.class, () -> LockClient.connect("memory:one"));
        two.withBean("two", LockClient.class, () -> LockClient.connect("memory:two"))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockTemplate.class));
        two.withBean("two", LockClient.class, () -> LockClient.connect("memory:two"), bean -> bean.setPrimary(true))
                .run(context -> context.getBean(LockTemplate.class)
                        .run(
                                "a",
                                lease -> assertThat(context.getBean("two", LockClient.class)
                                                .held())
                                        .hasSize(1)));
    }
}
