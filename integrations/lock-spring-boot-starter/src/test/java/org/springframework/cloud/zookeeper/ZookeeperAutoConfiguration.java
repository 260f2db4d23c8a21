package org.springframework.cloud.zookeeper;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;

/** Stands for Spring Cloud's, which has the same name, without its library. */
@AutoConfiguration
public class ZookeeperAutoConfiguration {

    @Bean(destroyMethod = "close")
    CuratorFramework curatorFramework() {
        CuratorFramework curator = CuratorFrameworkFactory.newClient("127.0.0.1:1", new RetryOneTime(1));
        curator.start();
        return curator;
    }
}
