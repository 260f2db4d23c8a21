package dev.holdfast.lock.consul;

import java.net.URI;
import java.net.http.HttpClient;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connection to the agents. Immutable.
 *
 * @param client the HTTP client
 * @param agents their addresses, without a path; not empty
 * @param token supplies the ACL token for each request; null without ACLs
 * @param closer closes the HTTP client if it is our own
 */
record ConsulConnection(
        HttpClient client, List<URI> agents, @Nullable Supplier<String> token, Runnable closer) {

    /** Omits the token. */
    @Override
    public String toString() {
        return "ConsulConnection" + agents;
    }
}
