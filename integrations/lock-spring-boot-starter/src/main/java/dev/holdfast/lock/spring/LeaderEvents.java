package dev.holdfast.lock.spring;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import java.util.Objects;
import org.springframework.context.ApplicationEventPublisher;

/**
 * Makes elections whose callbacks are events of the application, {@link LeaderElectedEvent} and {@link LeaderRevokedEvent}:
 *
 * <pre>{@code
 * @Bean
 * Election shopLeader(LeaderEvents events, LockClient locks) {
 *     return events.election(locks, "shop/leader").start();
 * }
 *
 * @EventListener
 * void lead(LeaderElectedEvent event) { ... }
 * }</pre>
 *
 * <p>The starter has a bean of this type. Like every {@code Election} bean, one that is made here stands when the context has started,
 * resigns when it is stopped, paused or closed, and stands again when it is started again. Immutable and thread-safe.
 */
public final class LeaderEvents {
    private final ApplicationEventPublisher publisher;

    /**
     * Creates it.
     *
     * @param publisher publishes the events
     */
    public LeaderEvents(ApplicationEventPublisher publisher) {
        this.publisher = Objects.requireNonNull(publisher, "publisher must not be null");
    }

    /**
     * Builds an election that publishes events; both callbacks are set.
     *
     * @param client whose lock the leader holds
     * @param name the election's name
     * @return a builder
     * @throws IllegalArgumentException if the name is not acceptable
     */
    public Election.Builder election(LockClient client, String name) {
        return client.election(name)
                .onElected(leadership -> publisher.publishEvent(new LeaderElectedEvent(name, leadership)))
                .onRevoked(leadership -> publisher.publishEvent(new LeaderRevokedEvent(name, leadership)));
    }
}
