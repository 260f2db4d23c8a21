package dev.holdfast.lock.spring.test;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** A store for one application context. */
@AutoConfiguration(before = HoldfastAutoConfiguration.class)
class MemoryLocksConfiguration {

    @Bean
    @Primary
    MemoryStore holdfastMemoryStore() {
        return MemoryStore.create();
    }

    @Bean
    @Primary
    LockClient holdfastMemoryClient(MemoryStore store, LockClientOptions options) {
        return store.newClient(options);
    }
}
