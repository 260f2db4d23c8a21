package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.HoldfastConnectionDetails;
import io.etcd.jetcd.Client;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cloud.zookeeper.ZookeeperAutoConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Which store has the locks: the application's own client, the URI's, or the only one of its beans. */
class StoreChoiceTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(HoldfastAutoConfiguration.class, DataSourceAutoConfiguration.class))
            .withPropertyValues("holdfast.request-timeout=20s"); // loading takes seconds on a busy machine
    private final ApplicationContextRunner without =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class));

    @Test
    void ownClient_isLeftAlone() {
        LockClient own = MemoryStore.create().newClient(LockClientOptions.defaults());
        without.withBean("mine", LockClient.class, () -> own)
                .run(context -> assertThat(context.getBean(LockClient.class)).isSameAs(own));
    }

    @Test
    void uri_comesBeforeBeans() {
        runner.withPropertyValues("holdfast.uri=memory:uri-first").run(context -> {
            try (Lease lease = context.getBean(LockClient.class).lock("a").acquire()) {
                assertThat(MemoryStore.named("uri-first").entries("a")).isEqualTo(1);
            }
        });
    }

    @Test
    void connectionDetails_takeThePlaceOfTheUri() {
        without.withPropertyValues("holdfast.uri=redis://127.0.0.1:1")
                .withBean(HoldfastConnectionDetails.class, () -> () -> "memory:details")
                .run(context -> {
                    try (Lease lease =
                            context.getBean(LockClient.class).lock("a").acquire()) {
                        assertThat(MemoryStore.named("details").entries("a")).isEqualTo(1);
                    }
                });
        without.withBean(HoldfastConnectionDetails.class, () -> () -> "nosuch:details")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of the HoldfastConnectionDetails is not acceptable"));
    }

    @ParameterizedTest
    @CsvSource({
        "jdbc:h2:mem:refused, holdfast.jdbc.table=locks, holdfast.table",
        "JDBC:h2:mem:refused, holdfast.jdbc.strategy=unique-index, holdfast.strategy",
        "jdbc:h2:mem:refused, holdfast.jdbc.notifications=false, holdfast.notifications",
        "jdbc:h2:mem:refused, holdfast.jdbc.initialize-schema=always, holdfast.createTable=true",
        "redis://127.0.0.1:1, holdfast.redis.prefix=shop, RedisLocks.builder",
        "etcd://127.0.0.1:1, holdfast.etcd.prefix=shop/, parameter prefix",
        "zookeeper://127.0.0.1:1, holdfast.zookeeper.base-path=/shop, path of the address"
    })
    void propertyOfBeans_besidesAUriOfTheSameStore_isRefused(String uri, String property, String instead) {
        without.withPropertyValues("holdfast.uri=" + uri, property).run(context -> {
            String name = property.substring(0, property.indexOf('='));
            assertThat(FailureAnalyses.of(context.getStartupFailure()).getDescription())
                    .startsWith("The value of " + name
                            + " is not acceptable: it has no effect on the store of holdfast.uri")
                    .contains(instead);
        });
        without.withPropertyValues("holdfast.uri=memory:refused", property)
                .run(context -> assertThat(context).as("another store").hasNotFailed());
    }

    @Test
    void dataSource_isUsedIfItIsTheOnlyStore() {
        runner.run(context -> {
            try (Lease lease = context.getBean(LockClient.class).lock("a").acquire()) {
                assertThat(rows(context.getBean(DataSource.class))).isEqualTo(1);
            }
        });
    }

    @Test
    void lockOptions_thatTheOnlyStoreRefuses_areNamed() {
        runner.withPropertyValues("holdfast.lock.lease=50ms")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of holdfast.lock is not acceptable: a lease of 50 ms"));
        runner.withPropertyValues("holdfast.locks.nightly.lease=50ms")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of holdfast.locks.nightly is not acceptable: a lease of 50 ms"));
    }

    @Test
    void severalStores_areNamed_andOneIsChosenByProperty() {
        ApplicationContextRunner several = runner.withBean(
                "cache", LettuceConnectionFactory.class, () -> new LettuceConnectionFactory("127.0.0.1", 1));
        several.run(context -> {
            FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .isEqualTo(
                            "Several stores could have the locks. Found: jdbc (lock-jdbc with the DataSource dataSource),"
                                    + " redis (lock-redis with the LettuceConnectionFactory cache).");
            assertThat(analysis.getAction()).isEqualTo("Set holdfast.backend to jdbc or redis, or set holdfast.uri.");
        });
        several.withPropertyValues("holdfast.backend=jdbc")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LockClient.class));
        several.withPropertyValues("holdfast.backend=etcd").run(context -> {
            FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .contains(
                            "holdfast.backend is etcd",
                            "no jetcd Client bean, or no lock-etcd",
                            "DataSource dataSource");
        });
        several.withClassLoader(new FilteredClassLoader(JdbcLocks.class))
                .withPropertyValues("holdfast.request-timeout=200ms")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .as("Redis is the only one left, and is asked")
                        .contains("The lock store cannot be reached", "Redis"));
    }

    @Test
    void severalBeansOfOneStore_areNamed_unlessOneIsPrimary() {
        without.withBean("first", DataSource.class, JdbcDataSource::new)
                .withBean("second", DataSource.class, JdbcDataSource::new)
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("the DataSource first, second"));
        without.withBean("first", DataSource.class, () -> h2("first"))
                .withBean("second", DataSource.class, () -> h2("second"), bean -> bean.setPrimary(true))
                .run(context -> {
                    try (Lease lease =
                            context.getBean(LockClient.class).lock("a").acquire()) {
                        assertThat(rows((DataSource) context.getBean("second"))).isEqualTo(1);
                    }
                });
    }

    @Test
    void beanThatIsOnlyForWhoAsksByName_isNoCandidate() {
        without.withBean("own", DataSource.class, () -> h2("own"))
                .withBean(
                        "reports",
                        DataSource.class,
                        () -> h2("reports"),
                        bean -> ((AbstractBeanDefinition) bean).setDefaultCandidate(false))
                .run(context -> {
                    try (Lease lease =
                            context.getBean(LockClient.class).lock("a").acquire()) {
                        assertThat(rows((DataSource) context.getBean("own"))).isEqualTo(1);
                    }
                });
        without.withBean("reports", DataSource.class, () -> h2("reports"), bean -> bean.setAutowireCandidate(false))
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("holdfast.uri is not set"));
    }

    @Test
    void beanOfAParentContext_isACandidate() {
        new ApplicationContextRunner()
                .withBean("above", DataSource.class, () -> h2("above"))
                .run(parent -> without.withParent(parent).run(context -> {
                    try (Lease lease =
                            context.getBean(LockClient.class).lock("a").acquire()) {
                        assertThat(rows((DataSource) context.getBean("above"))).isEqualTo(1);
                    }
                }));
    }

    @Test
    void noStore_isSaidWithWhatToAdd() {
        without.run(context -> {
            FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("holdfast.uri is not set");
            assertThat(analysis.getAction()).contains("lock-redis (uses the LettuceConnectionFactory bean)", "memory:");
        });
    }

    @Test
    void disabled_hasNothing() {
        without.withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockClient.class));
    }

    @Test
    void etcdAndCurator_areCandidates() {
        without.withBean(
                        "etcd",
                        Client.class,
                        () -> Client.builder().endpoints("http://127.0.0.1:1").build())
                .run(context ->
                        assertThat(context.getBean(LockClient.class).toString()).containsIgnoringCase("etcd"));
        without.withBean("zk", CuratorFramework.class, () -> {
                    CuratorFramework curator = CuratorFrameworkFactory.newClient("127.0.0.1:1", new RetryOneTime(1));
                    curator.start();
                    return curator;
                })
                .run(context ->
                        assertThat(context.getBean(LockClient.class).toString()).containsIgnoringCase("zookeeper"));
    }

    @Test
    void springCloudsCurator_isFound() {
        new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(HoldfastAutoConfiguration.class, ZookeeperAutoConfiguration.class))
                .run(context ->
                        assertThat(context.getBean(LockClient.class).toString()).containsIgnoringCase("zookeeper"));
    }

    @Test
    void optionalLibraries_mayAllBeMissing() {
        without.withPropertyValues("holdfast.uri=memory:")
                .withClassLoader(new FilteredClassLoader(
                        "org.springframework.boot.jdbc",
                        "org.springframework.boot.sql",
                        "org.springframework.jdbc",
                        "org.springframework.transaction",
                        "org.springframework.data",
                        "org.springframework.boot.actuate",
                        "org.springframework.boot.health",
                        "org.springframework.aop",
                        "io.micrometer",
                        "reactor",
                        "io.lettuce",
                        "io.etcd",
                        "org.apache.curator",
                        "dev.holdfast.lock.jdbc",
                        "dev.holdfast.lock.redis",
                        "dev.holdfast.lock.etcd",
                        "dev.holdfast.lock.zookeeper"))
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LockClient.class));
    }

    private static JdbcDataSource h2(String name) {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1");
        return source;
    }

    private static int rows(DataSource dataSource) throws Exception {
        try (var connection = dataSource.getConnection();
                var rows = connection.createStatement().executeQuery("SELECT COUNT(*) FROM holdfast_lock")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
