package dev.holdfast.examples.spring;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.LeaderElectedEvent;
import dev.holdfast.lock.spring.LeaderEvents;
import dev.holdfast.lock.spring.LeaderRevokedEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/** One instance leads until it ends; the next one leads at once. The starter lets the election stand while the context runs. */
@Configuration(proxyBeanMethods = false)
class Leader {
    private static final Logger LOG = LoggerFactory.getLogger(Leader.class);

    @Bean
    Election shopLeader(LeaderEvents events, LockClient locks) {
        return events.election(locks, "shop/leader").start();
    }

    @EventListener
    void lead(LeaderElectedEvent event) {
        LOG.info("this instance leads, token {}", event.leadership().token());
    }

    @EventListener
    void follow(LeaderRevokedEvent event) {
        LOG.info("this instance leads no more");
    }
}
