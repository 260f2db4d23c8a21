package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import org.apache.curator.framework.CuratorFramework;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks over the application's CuratorFramework. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({ZooKeeperLocks.class, CuratorFramework.class})
@ConditionalOnBean(CuratorFramework.class)
class ZooKeeperBackend {

    @Bean
    BackendCandidate holdfastZooKeeper(
            HoldfastProperties properties, ListableBeanFactory beans, ObjectProvider<CuratorFramework> frameworks) {
        return OnlyBean.candidate(
                Backend.ZOOKEEPER, CuratorFramework.class, frameworks, beans, (framework, options) -> {
                    ZooKeeperLocks.Builder builder =
                            ZooKeeperLocks.builder(framework).options(options);
                    OptionsOfProperties.set(
                            "holdfast.zookeeper.base-path",
                            properties.zookeeper().basePath(),
                            builder::basePath);
                    return builder.build();
                });
    }
}
