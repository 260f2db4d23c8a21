package dev.holdfast.benchmarks.candidate;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** jetcd clients with its defaults. */
final class EtcdClients {
    private EtcdClients() {}

    static Client open(String address) {
        URI uri = URI.create(address);
        return Client.builder()
                .endpoints("http://" + uri.getHost() + ":" + uri.getPort())
                .build();
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }
}
