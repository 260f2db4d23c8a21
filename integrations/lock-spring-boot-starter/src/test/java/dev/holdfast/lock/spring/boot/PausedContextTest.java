package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Spring 7 pauses the context of a test class while that of another is used, and restarts it when it is used again. */
@House("containers:contexts")
class PausedContextTest {
    private static RedisServer server;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
            .withPropertyValues("holdfast.request-timeout=20s");

    @BeforeAll
    static void start() throws Exception {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void redis_afterAPauseAndAStop_locksAndKeepsWhatItHeld() {
        ApplicationContextRunner redis = runner.withBean(
                "redis",
                LettuceConnectionFactory.class,
                () -> new LettuceConnectionFactory("127.0.0.1", server.port()));
        redis.run(context -> {
            LockClient client = context.getBean(LockClient.class);
            try (Lease held = client.lock("held").acquire()) {
                ConfigurableApplicationContext own = own(context);
                own.pause();
                held.ensure(Duration.ofSeconds(1));
                own.restart();
                assertLocks(client, "paused");
                own.stop();
                own.start();
                assertLocks(client, "stopped");
                held.ensure(Duration.ofSeconds(1));
            }
        });
        redis.run(context ->
                assertThat(context.getBean(LockClient.class).holder("held")).isEmpty());
        Waits.until(
                "the threads of Lettuce have ended with the context",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("lettuce-") && thread.isAlive()));
    }

    private static ConfigurableApplicationContext own(AssertableApplicationContext context) {
        return context.getSourceApplicationContext(ConfigurableApplicationContext.class);
    }

    private static void assertLocks(LockClient client, String name) throws InterruptedException {
        try (Lease lease = client.lock(name).acquire(Duration.ofSeconds(20))) {
            assertThat(lease.isValid()).isTrue();
        }
    }
}
