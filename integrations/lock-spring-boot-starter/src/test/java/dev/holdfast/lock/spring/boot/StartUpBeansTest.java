package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.NamedLockOptions;
import dev.holdfast.lock.spring.hold.InTransaction;
import dev.holdfast.lock.spring.hold.LockedCalls;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Which beans a start makes, which are left to the first call, and which give way to those of the application. */
class StartUpBeansTest {
    private static final String[] OF_THE_FIRST_CALL = {"lockTemplate", "holdfastLockedCalls", "holdfastLockedDefaults"};

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
            .withPropertyValues("holdfast.uri=memory:");

    @Test
    void start_makesTheClient_andLeavesTheRestToTheFirstCall() {
        runner.run(context -> {
            assertThat(context.getBeanFactory().containsSingleton("lockClient")).isTrue();
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
