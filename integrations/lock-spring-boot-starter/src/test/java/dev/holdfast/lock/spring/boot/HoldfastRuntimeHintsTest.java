package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spring.actuate.LocksEndpoint;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import io.etcd.jetcd.Client;
import java.util.List;
import java.util.ServiceLoader;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.javapoet.ClassName;

/** What a native image would keep, from the registrar and from Spring's processing of the application ahead of time. */
class HoldfastRuntimeHintsTest {

    @Test
    void registrar_keepsProvidersAndSchemaFiles() {
        RuntimeHints hints = new RuntimeHints();
        new HoldfastAutoConfiguration.Hints().registerHints(hints, getClass().getClassLoader());

        List<Class<? extends LockProvider>> providers = ServiceLoader.load(LockProvider.class).stream()
                .<Class<? extends LockProvider>>map(ServiceLoader.Provider::type)
                .toList();
        assertThat(providers).as("jdbc, redis, etcd, zookeeper, memory").hasSizeGreaterThanOrEqualTo(5);
        assertThat(providers)
                .allMatch(provider -> RuntimeHintsPredicates.reflection()
                        .onType(provider)
                        .withMemberCategory(MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)
                        .test(hints));
        for (Class<?> lookedFor : new Class<?>[] {
            JdbcLocks.class,
            DataSource.class,
            RedisLocks.class,
            LettuceConnectionFactory.class,
            EtcdLocks.class,
            Client.class,
            ZooKeeperLocks.class,
            CuratorFramework.class
        }) {
            assertThat(RuntimeHintsPredicates.reflection().onType(lookedFor))
                    .as(lookedFor.getName())
                    .accepts(hints);
        }
        for (String file : new String[] {"version-postgresql", "unique-mariadb", "row-mysql", "transaction-h2"}) {
            String path = "dev/holdfast/lock/jdbc/" + file + ".sql";
            assertThat(getClass().getClassLoader().getResource(path)).as(path).isNotNull();
            assertThat(RuntimeHintsPredicates.resource().forResource(path)).accepts(hints);
        }
        for (String file : new String[] {"attempt", "renew-in-line", "parts/layout"}) {
            String path = "dev/holdfast/lock/redis/internal/script/" + file + ".lua";
            assertThat(getClass().getClassLoader().getResource(path)).as(path).isNotNull();
            assertThat(RuntimeHintsPredicates.resource().forResource(path)).accepts(hints);
        }
        assertThat(RuntimeHintsPredicates.resource().forResource("META-INF/services/dev.holdfast.lock.LockProvider"))
                .accepts(hints);
    }

    @Test
    void processingAheadOfTime_keepsPropertiesAndTheEndpointsAnswers() {
        GenericApplicationContext context = new AnnotationConfigApplicationContext();
        context.getEnvironment().getSystemProperties().put("holdfast.uri", "memory:");
        context.getEnvironment().getSystemProperties().put("management.endpoints.web.exposure.include", "locks");
        try {
            ((AnnotationConfigApplicationContext) context)
                    .register(
                            HoldfastAutoConfiguration.class,
                            dev.holdfast.lock.spring.actuate.LocksActuatorAutoConfiguration.class);
            DefaultGenerationContext generation = new DefaultGenerationContext(
                    new ClassNameGenerator(ClassName.get("dev.holdfast.aot", "Application")),
                    new InMemoryGeneratedFiles());
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
            generation.writeGeneratedContent();

            RuntimeHints hints = generation.getRuntimeHints();
            assertThat(RuntimeHintsPredicates.resource().forResource("dev/holdfast/lock/jdbc/version-h2.sql"))
                    .as("the registrar is imported")
                    .accepts(hints);
            for (Class<?> bound : new Class<?>[] {
                HoldfastProperties.class,
                HoldfastProperties.Lock.class,
                HoldfastProperties.Annotation.class,
                LocksEndpoint.HereDescriptor.class,
                LocksEndpoint.HereHolder.class,
                LocksEndpoint.HolderDescriptor.class
            }) {
                assertThat(RuntimeHintsPredicates.reflection().onType(bound))
                        .as(bound.getName())
                        .accepts(hints);
            }
        } finally {
            System.clearProperty("holdfast.uri");
            System.clearProperty("management.endpoints.web.exposure.include");
        }
    }
}
