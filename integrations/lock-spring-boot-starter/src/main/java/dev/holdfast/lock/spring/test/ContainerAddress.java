package dev.holdfast.lock.spring.test;

import dev.holdfast.lock.spring.HoldfastConnectionDetails;
import java.util.List;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;
import org.testcontainers.containers.Container;

/**
 * Testcontainers' {@code @ServiceConnection} on a container of a lock store: its address takes the place of {@code holdfast.uri}.
 * Containers of databases and Redis need nothing of the kind, since the locks use the application's own connection. Stateless;
 * thread-safe.
 */
abstract class ContainerAddress extends ContainerConnectionDetailsFactory<Container<?>, HoldfastConnectionDetails> {
    private final String scheme;
    private final int port;

    /** For the names of connections, which are those of images unless the annotation has another. */
    private ContainerAddress(List<String> names, String scheme, int port) {
        super(names);
        this.scheme = scheme;
        this.port = port;
    }

    @Override
    protected HoldfastConnectionDetails getContainerConnectionDetails(ContainerConnectionSource<Container<?>> source) {
        return new Address(source, scheme, port);
    }

    private static final class Address extends ContainerConnectionDetails<Container<?>>
            implements HoldfastConnectionDetails {
        private final String scheme;
        private final int port;

        private Address(ContainerConnectionSource<Container<?>> source, String scheme, int port) {
            super(source);
            this.scheme = scheme;
            this.port = port;
        }

        @Override
        public String uri() {
            return scheme + "://" + getContainer().getHost() + ":"
                    + getContainer().getMappedPort(port);
        }
    }

    /** Of etcd. */
    static final class Etcd extends ContainerAddress {
        Etcd() {
            super(List.of("etcd", "etcd-development/etcd", "coreos/etcd", "bitnami/etcd"), "etcd", 2379);
        }
    }

    /** Of ZooKeeper. */
    static final class ZooKeeper extends ContainerAddress {
        ZooKeeper() {
            super(List.of("zookeeper", "bitnami/zookeeper"), "zookeeper", 2181);
        }
    }

    /** Of Consul. */
    static final class Consul extends ContainerAddress {
        Consul() {
            super(List.of("consul", "hashicorp/consul"), "consul", 8500);
        }
    }

    /** Of memcached. */
    static final class Memcached extends ContainerAddress {
        Memcached() {
            super(List.of("memcached", "bitnami/memcached"), "memcached", 11211);
        }
    }
}
