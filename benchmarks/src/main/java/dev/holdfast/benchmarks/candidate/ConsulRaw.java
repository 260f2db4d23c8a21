package dev.holdfast.benchmarks.candidate;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The recipe of {@code consul lock}: one session, a write with {@code acquire} to acquire, one with {@code release} to release,
 * by the JDK's HTTP client. It leaves a key for each name.
 */
final class ConsulRaw implements Candidate {
    private static final Pattern ID = Pattern.compile("\"ID\":\"([^\"]+)\"");

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Role role() {
        return Role.FLOOR;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) throws Exception {
        HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        URI agent = URI.create("http://" + URI.create(address).getAuthority());
        Matcher session = ID.matcher(put(client, agent, "/v1/session/create", "{\"TTL\":\"600s\"}"));
        if (!session.find()) {
            throw new IllegalStateException("Consul made no session");
        }
        String id = session.group(1);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Key(client, agent, "/v1/kv/raw/" + name, id);
            }

            @Override
            public void close() throws Exception {
                put(client, agent, "/v1/session/destroy/" + id, "");
            }
        };
    }

    private static String put(HttpClient client, URI agent, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(agent + path))
                .PUT(HttpRequest.BodyPublishers.ofString(body))
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private record Key(HttpClient client, URI agent, String path, String session) implements NamedLock {
        @Override
        public void lock() throws Exception {
            if (!put(client, agent, path + "?acquire=" + session, "owner")
                    .strip()
                    .equals("true")) {
                throw new IllegalStateException("'" + path + "' is taken, and the raw client does not wait");
            }
        }

        @Override
        public void unlock() throws Exception {
            put(client, agent, path + "?release=" + session, "owner");
        }
    }
}
