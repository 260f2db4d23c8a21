package dev.holdfast.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A client has no more threads than docs/client.md says, in a JVM of its own on each store. */
class ClientThreadsIT {
    private static Stores stores;

    @BeforeAll
    static void start() throws Exception {
        stores = Stores.start();
    }

    @AfterAll
    static void stop() {
        stores.close();
    }

    @Test
    void redis_hasTheThreadsThatThePageNames() throws Exception {
        check("Redis", stores.redisUri());
    }

    @Test
    void etcd_hasTheThreadsThatThePageNames() throws Exception {
        check("etcd", stores.etcdUri());
    }

    @Test
    void zooKeeper_hasTheThreadsThatThePageNames() throws Exception {
        check("ZooKeeper", stores.zooKeeperUri());
    }

    @Test
    void postgreSql_hasTheThreadsThatThePageNames() throws Exception {
        try (PostgresServer server = PostgresServer.start()) {
            check(
                    "PostgreSQL",
                    server.url() + "?user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD
                            + "&holdfast.createTable=true");
        }
    }

    @Test
    void consul_hasTheThreadsThatThePageNames() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            check("Consul", "consul://127.0.0.1:" + server.agent().port() + "?lock-delay=0s");
        }
    }

    @Test
    void memcached_hasTheThreadsThatThePageNames() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            check("memcached", "memcached://" + server.host() + ":" + server.port());
        }
    }

    @Test
    void memory_hasTheThreadsThatThePageNames() throws Exception {
        List<String> lines = Child.run(ClientThreads.class, "memory:threads", "false");
        compare("memory", lines);
    }

    private static void check(String store, String uri) throws Exception {
        List<Lease> held = new ArrayList<>();
        try (LockClient other = LockClient.connect(uri, ClientThreads.FIRST)) {
            for (int i = 0; i < ClientThreads.AWAITED; i++) {
                held.add(other.lock("awaited/" + i).acquire());
            }
            compare(store, Child.run(ClientThreads.class, uri, "true"));
            held.forEach(Lease::close);
        }
    }

    /** A row is {@code | store | idle | 100 held | 300 awaited |}, a cell "ours + the driver's". */
    private static void compare(String store, List<String> lines) throws Exception {
        System.out.println(store + ": " + lines);
        Matcher row = Pattern.compile("(?m)^\\| " + store
                        + "[^|]*\\| (\\d+) \\+ (\\d+) \\| (\\d+) \\+ (\\d+) \\| (\\d+) \\+ (\\d+) \\|")
                .matcher(Files.readString(Path.of("../docs/client.md")));
        assertThat(row.find()).as("a row of threads for %s", store).isTrue();
        List<String> states = List.of("idle", "held", "awaited");
        for (int i = 0; i < states.size(); i++) {
            String state = states.get(i);
            String line = lines.stream()
                    .filter(each -> each.startsWith(state + " "))
                    .findFirst()
                    .orElseThrow();
            String[] words = line.split(" ");
            assertThat(Integer.parseInt(words[1]))
                    .as("our threads: %s", line)
                    .isBetween(1, Integer.parseInt(row.group(2 * i + 1)));
            assertThat(Integer.parseInt(words[3]))
                    .as("the driver's threads: %s", line)
                    .isBetween(0, Integer.parseInt(row.group(2 * i + 2)));
        }
    }
}
