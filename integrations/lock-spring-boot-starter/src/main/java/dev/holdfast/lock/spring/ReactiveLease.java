package dev.holdfast.lock.spring;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.spring.hold.ReactiveCalls;
import reactor.core.publisher.Mono;

/**
 * The lease of the {@link Locked} method whose publisher is subscribed to, from Reactor's context: the innermost one. Needs Reactor.
 * Stateless and thread-safe.
 */
public final class ReactiveLease {
    private ReactiveLease() {}

    /**
     * Returns the lease. Its {@link Lease#ensure} blocks: call it on a thread that may be blocked.
     *
     * @return a view of the lease, which refuses to be closed; {@link IllegalStateException} outside of locked publishers
     */
    public static Mono<Lease> require() {
        return Mono.deferContextual(context -> Mono.justOrEmpty(ReactiveCalls.current(context)))
                .switchIfEmpty(Mono.error(() -> new IllegalStateException(
                        "this subscription belongs to no method with @Locked; call the method through its bean, "
                                + "and subscribe within what it returns")));
    }
}
