package dev.holdfast.benchmarks.candidate;

import java.net.URI;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator clients with its defaults: a session of 60 s, which a server with default settings cuts to 40 s. */
final class CuratorClients {
    private static final int FIRST_RETRY_MILLIS = 1_000;
    private static final int RETRIES = 3;

    private CuratorClients() {}

    static CuratorFramework open(String address) throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                servers(address), new ExponentialBackoffRetry(FIRST_RETRY_MILLIS, RETRIES));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static String servers(String address) {
        URI uri = URI.create(address);
        return uri.getHost() + ":" + uri.getPort();
    }
}
