package dev.holdfast.examples.deploy;

import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.io.IOException;
import java.util.List;

/** A server of each store that an application can reach from outside its JVM. */
record Stores(RedisServer redis, EtcdServer etcd, ConsulServer consul, ZooKeeperServer zooKeeper)
        implements AutoCloseable {

    static Stores start() throws IOException, InterruptedException {
        return new Stores(
                RedisServer.start(),
                EtcdServer.start(),
                ConsulServer.start(),
                ZooKeeperServer.builder(
                                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")))
                        .start());
    }

    String redisUri() {
        return "redis://" + redis.host() + ":" + redis.port();
    }

    String etcdUri() {
        return "etcd://" + etcd.hostsAndPorts();
    }

    String zooKeeperUri() {
        return "zookeeper://" + zooKeeper.connectString();
    }

    /** One of each, those that need no server too. */
    List<String> all() {
        return List.of(
                redisUri(),
                etcdUri(),
                "consul://127.0.0.1:" + consul.agent().port(),
                zooKeeperUri(),
                "jdbc:h2:mem:first;DB_CLOSE_DELAY=-1?holdfast.createTable=true",
                "memory:first");
    }

    @Override
    public void close() {
        redis.close();
        etcd.close();
        consul.close();
        zooKeeper.close();
    }
}
