package dev.holdfast.lock.spring.actuate;

import dev.holdfast.lock.LockException;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

/** The endpoint over HTTP: a name that is not acceptable is the request's fault, a store that does not answer is not. Thread-safe. */
@EndpointWebExtension(endpoint = LocksEndpoint.class)
public final class LocksEndpointWebExtension {
    private final LocksEndpoint endpoint;

    /**
     * Creates it.
     *
     * @param endpoint answers
     */
    public LocksEndpointWebExtension(LocksEndpoint endpoint) {
        this.endpoint = endpoint;
    }

    /**
     * Asks the store of each client for the holders of a lock.
     *
     * @param name the parts of the lock's name between slashes
     * @return the {@link LocksEndpoint.ServerDescriptor}; with status 400 and the reason if the name is not acceptable, with 503 if a
     *     store does not answer
     */
    @ReadOperation
    public WebEndpointResponse<Object> lock(@Selector(match = Selector.Match.ALL_REMAINING) String... name) {
        try {
            return new WebEndpointResponse<>(endpoint.lock(name));
        } catch (IllegalArgumentException e) {
            return failure(e, WebEndpointResponse.STATUS_BAD_REQUEST);
        } catch (LockException e) {
            return failure(e, WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
        }
    }

    private static WebEndpointResponse<Object> failure(RuntimeException e, int status) {
        return new WebEndpointResponse<>(Map.of("error", String.valueOf(e.getMessage())), status);
    }
}
