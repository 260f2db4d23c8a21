package dev.holdfast.benchmarks.candidate;

import com.spotify.folsom.AsciiMemcacheClient;
import com.spotify.folsom.ConnectFuture;
import com.spotify.folsom.MemcacheClientBuilder;
import com.spotify.folsom.MemcacheStatus;
import java.net.URI;
import java.util.concurrent.TimeUnit;

/** An add with an expiry to acquire, a delete to release, by Folsom. */
final class MemcachedRaw implements Candidate {
    private static final int EXPIRY_SECONDS = 600;

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
        URI uri = URI.create(address);
        AsciiMemcacheClient<String> client = MemcacheClientBuilder.newStringClient()
                .withAddress(uri.getHost(), uri.getPort())
                .withReplyExecutor(null)
                .connectAscii();
        ConnectFuture.connectFuture(client).toCompletableFuture().get(1, TimeUnit.MINUTES);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Item(client, "raw/" + name);
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    private record Item(AsciiMemcacheClient<String> client, String key) implements NamedLock {

        @Override
        public void lock() throws Exception {
            MemcacheStatus added = client.add(key, "owner", EXPIRY_SECONDS)
                    .toCompletableFuture()
                    .get();
            if (added != MemcacheStatus.OK) {
                throw new IllegalStateException("'" + key + "' is taken, and the raw client does not wait");
            }
        }

        @Override
        public void unlock() throws Exception {
            client.delete(key).toCompletableFuture().get();
        }
    }
}
