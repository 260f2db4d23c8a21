package dev.holdfast.lock.spring;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * Where the lock store is. A bean of this type takes the place of {@code holdfast.uri}: Testcontainers, Docker Compose and
 * service bindings define such beans when the address is known, which is after the properties were read. Thread-safe.
 */
@FunctionalInterface
public interface HoldfastConnectionDetails extends ConnectionDetails {

    /**
     * Returns the address.
     *
     * @return any address that {@link dev.holdfast.lock.LockClient#connect(String)} accepts; never null
     */
    String uri();
}
