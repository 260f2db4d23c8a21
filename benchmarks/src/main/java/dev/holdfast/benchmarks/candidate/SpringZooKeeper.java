package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.springframework.integration.zookeeper.lock.ZookeeperLockRegistry;

/** Spring Integration's lock registry on ZooKeeper, which is built on Curator's mutex. */
final class SpringZooKeeper implements Candidate {

    @Override
    public String name() {
        return "spring";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Duration outlives() {
        return Duration.ofSeconds(40);
    }

    @Override
    public Session open(String address) throws Exception {
        CuratorFramework client = CuratorClients.open(address);
        ZookeeperLockRegistry registry = new ZookeeperLockRegistry(client);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return NamedLock.of(registry.obtain(name));
            }

            @Override
            public void close() {
                registry.destroy();
                client.close();
            }
        };
    }
}
