package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import io.etcd.jetcd.Client;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks over the application's jetcd client. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({EtcdLocks.class, Client.class})
@ConditionalOnBean(Client.class)
class EtcdBackend {

    @Bean
    BackendCandidate holdfastEtcd(
            HoldfastProperties properties, ListableBeanFactory beans, ObjectProvider<Client> clients) {
        return OnlyBean.candidate(Backend.ETCD, Client.class, clients, beans, (client, options) -> {
            EtcdLocks.Builder builder = EtcdLocks.builder(client).options(options);
            OptionsOfProperties.set("holdfast.etcd.prefix", properties.etcd().prefix(), builder::prefix);
            return builder.build();
        });
    }
}
