package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import io.etcd.jetcd.Client;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** Locks over the application's jetcd client. To be loaded only if lock-etcd is there. */
final class EtcdBackend {
    private EtcdBackend() {}

    static @Nullable BackendCandidate candidate(HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
        return OnlyBean.candidate(Backend.ETCD, Client.class, beans, (client, options) -> {
            EtcdLocks.Builder builder = EtcdLocks.builder(client).options(options);
            OptionsOfProperties.set("holdfast.etcd.prefix", properties.etcd().prefix(), builder::prefix);
            return Customizers.apply(beans, EtcdLocks.Builder.class, builder).build();
        });
    }
}
