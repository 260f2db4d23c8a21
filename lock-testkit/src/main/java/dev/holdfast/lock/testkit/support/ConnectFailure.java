package dev.holdfast.lock.testkit.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;

/**
 * What {@code connect} reported for an address that does not lead to a store.
 *
 * @param address the address, with a host and port of which the message must remind
 * @param failure what was thrown
 */
public record ConnectFailure(String address, Throwable failure) {
    private static final Duration REQUEST = Duration.ofMillis(1_500);

    /** Far above the time that connecting may take, for a busy machine; far below the time-outs of the client libraries. */
    private static final Duration PATIENCE = Duration.ofSeconds(8);

    /**
     * Connects.
     *
     * @param address an address
     * @return how it failed
     */
    public static ConnectFailure of(String address) {
        return of(address, REQUEST);
    }

    /**
     * Connects to a server that takes long to say why it refuses.
     *
     * @param address an address
     * @param request how long a request may take
     * @return how it failed
     */
    public static ConnectFailure of(String address, Duration request) {
        LockClientOptions options =
                LockClientOptions.builder().requestTimeout(request).build();
        long start = System.nanoTime();
        Throwable failure =
                catchThrowable(() -> LockClient.connect(address, options).close());
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .as("time to fail")
                .isLessThan(PATIENCE.plus(request).minus(REQUEST));
        assertThat(failure).as(address).isInstanceOf(LockException.class);
        return new ConnectFailure(address, failure);
    }

    /**
     * Checks that a retry may help. Connects again, and waits longer, if the machine was too slow to show it.
     *
     * @param server the host, and the port if the address has one
     * @param rootCause what the first line must say
     */
    public void mayPass(String server, String rootCause) {
        boolean late = failure instanceof LockUnavailableException
                && !String.valueOf(failure.getMessage()).contains(rootCause);
        ConnectFailure last = late ? of(address, REQUEST.multipliedBy(4)) : this;
        assertThat(last.failure).isInstanceOf(LockUnavailableException.class);
        last.saysInOneLine(server, rootCause);
    }

    /**
     * Checks that the user has to correct something. Connects again, and waits longer, if the server was too slow to
     * show it.
     *
     * @param server the host, and the port if the address has one
     * @param rootCause what the first line must say
     */
    public void lasts(String server, String rootCause) {
        ConnectFailure last = failure instanceof LockUnavailableException ? of(address, REQUEST.multipliedBy(4)) : this;
        assertThat(last.failure).isInstanceOf(LockConfigurationException.class);
        last.saysInOneLine(server, rootCause);
    }

    private void saysInOneLine(String server, String rootCause) {
        assertThat(String.valueOf(failure.getMessage()).lines().findFirst().orElse(""))
                .contains(server, rootCause)
                .doesNotContain("outcome is unknown");
    }
}
