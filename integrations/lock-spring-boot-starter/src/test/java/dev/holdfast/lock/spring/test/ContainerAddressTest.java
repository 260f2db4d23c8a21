package dev.holdfast.lock.spring.test;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.HoldfastConnectionDetails;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.testcontainers.containers.GenericContainer;

/** {@code @ServiceConnection}, with containers that stand for servers that run already. */
class ContainerAddressTest {
    private static volatile int port;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(ServiceConnectionAutoConfiguration.class, HoldfastAutoConfiguration.class));

    @Test
    void container_isTheStore() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            port = server.port();
            runner.withUserConfiguration(MemcachedContainer.class)
                    .withPropertyValues("holdfast.uri=redis://127.0.0.1:1")
                    .run(context -> {
                        try (Lease lease =
                                context.getBean(LockClient.class).lock("a").acquire()) {
                            assertThat(lease.isValid()).isTrue();
                        }
                    });
        }
    }

    @ParameterizedTest
    @CsvSource({
        "EtcdContainer, etcd://127.0.0.1:2379",
        "ZooKeeperContainer, zookeeper://127.0.0.1:2181",
        "ConsulContainer, consul://127.0.0.1:8500",
    })
    void name_isThatOfTheStore(String container, String uri) throws Exception {
        port = 0;
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(ServiceConnectionAutoConfiguration.class))
                .withUserConfiguration(Class.forName(ContainerAddressTest.class.getName() + "$" + container))
                .run(context -> assertThat(
                                context.getBean(HoldfastConnectionDetails.class).uri())
                        .isEqualTo(uri));
    }

    @Configuration(proxyBeanMethods = false)
    static class MemcachedContainer {
        @Bean
        @ServiceConnection("memcached")
        Running memcached() {
            return new Running("memcached:1.6");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class EtcdContainer {
        @Bean
        @ServiceConnection("etcd")
        Running etcd() {
            return new Running("gcr.io/etcd-development/etcd:v3.6.0");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class ZooKeeperContainer {
        @Bean
        @ServiceConnection("zookeeper")
        Running anything() {
            return new Running("example.org/our-zookeeper:1");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class ConsulContainer {
        @Bean
        @ServiceConnection("consul")
        Running consul() {
            return new Running("hashicorp/consul:1.21");
        }
    }

    /** Needs no container engine. */
    static final class Running extends GenericContainer<Running> {
        Running(String image) {
            super(image);
        }

        @Override
        public void start() {}

        @Override
        public void stop() {}

        @Override
        public boolean isRunning() {
            return true;
        }

        @Override
        public String getHost() {
            return "127.0.0.1";
        }

        @Override
        public Integer getMappedPort(int own) {
            return port == 0 ? own : port;
        }
    }
}
