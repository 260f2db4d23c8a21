package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import org.apache.curator.framework.CuratorFramework;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** Locks over the application's CuratorFramework. To be loaded only if lock-zookeeper is there. */
final class ZooKeeperBackend {
    private ZooKeeperBackend() {}

    static @Nullable BackendCandidate candidate(HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
        return OnlyBean.candidate(Backend.ZOOKEEPER, CuratorFramework.class, beans, (framework, options) -> {
            ZooKeeperLocks.Builder builder = ZooKeeperLocks.builder(framework).options(options);
            OptionsOfProperties.set(
                    "holdfast.zookeeper.base-path", properties.zookeeper().basePath(), builder::basePath);
            return Customizers.apply(beans, ZooKeeperLocks.Builder.class, builder)
                    .build();
        });
    }
}
