package dev.holdfast.lock.consul.internal.http;

import java.net.URI;
import java.net.http.HttpClient;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The connection to the agents. Immutable.
 *
 * @param client the HTTP client
 * @param renewals the HTTP client whose one connection is reserved for renewals; the same one if the application gave it
 * @param agents their addresses, without a path; not empty
 * @param token supplies the ACL token for each request; null without ACLs
 * @param datacenter the datacenter that requests name; null for that of the agent
 * @param closer closes the HTTP client if it is our own
 */
public record ConsulConnection(
        HttpClient client,
        HttpClient renewals,
        List<URI> agents,
        @Nullable Supplier<String> token,
        @Nullable String datacenter,
        Runnable closer) {

    private static final Pattern DATACENTER = Pattern.compile("[a-zA-Z0-9_-]{1,128}");

    /** A connection by an HTTP client of the application. */
    public ConsulConnection(HttpClient client, List<URI> agents, @Nullable Supplier<String> token, Runnable closer) {
        this(client, client, agents, token, null, closer);
    }

    /** Whether a datacenter can have that name. */
    public static boolean isDatacenter(String name) {
        return DATACENTER.matcher(name).matches();
    }

    /** Omits the token. */
    @Override
    public String toString() {
        return "ConsulConnection" + agents;
    }
}
