package dev.holdfast.lock.consul;

import java.net.URI;
import java.net.http.HttpClient;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How agents are reached. Immutable.
 *
 * @param client the HTTP client
 * @param agents their addresses, without a path; not empty
 * @param token asked for the ACL token at each request; null without ACLs
 * @param closer ends the HTTP client if it is our own
 */
record ConsulConnection(
        HttpClient client, List<URI> agents, @Nullable Supplier<String> token, Runnable closer) {

    /** Without the token. */
    @Override
    public String toString() {
        return "ConsulConnection" + agents;
    }
}
