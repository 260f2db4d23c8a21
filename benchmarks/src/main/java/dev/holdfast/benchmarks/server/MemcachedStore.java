package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.io.IOException;
import java.util.Set;

/** A memcached with its defaults. */
final class MemcachedStore implements Store {
    private final MemcachedServer server;
    private final String version;

    private MemcachedStore(MemcachedServer server, String version) {
        this.server = server;
        this.version = version;
    }

    static MemcachedStore start() throws IOException, InterruptedException {
        MemcachedServer server = MemcachedServer.start();
        return new MemcachedStore(server, server.version());
    }

    @Override
    public String name() {
        return "memcached";
    }

    @Override
    public String version() {
        return "memcached " + version;
    }

    @Override
    public String address() {
        return "memcached://" + server.host() + ":" + server.port();
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        return server.stat("cmd_set")
                + server.stat("cmd_get")
                + server.stat("delete_hits")
                + server.stat("delete_misses");
    }

    @Override
    public String unit() {
        return "keys read and written";
    }

    @Override
    public void close() {
        server.close();
    }
}
