package dev.holdfast.examples.spring;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** One instance leads until it ends. The starter closes the election before the lock client, and the next one leads at once. */
@Configuration(proxyBeanMethods = false)
class Leader {
    private static final Logger LOG = LoggerFactory.getLogger(Leader.class);

    @Bean
    Election shopLeader(LockClient locks) {
        return locks.election("shop/leader")
                .onElected(leadership -> LOG.info("this instance leads, token {}", leadership.token()))
                .onRevoked(leadership -> LOG.info("this instance leads no more"))
                .start();
    }
}
