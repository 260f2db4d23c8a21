package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On each store: two processes, like two hosts; holders and waiters; and the findings of the doctor. */
class EveryStoreIT {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** The first connection loads the driver. */
    private static final LockClientOptions FIRST =
            LockClientOptions.builder().requestTimeout(PATIENCE).build();

    @TempDir
    private Path folder;

    @Test
    void redis() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            String store = "redis://" + server.host() + ":" + server.port();
            check(store, 1, 1);
            several(store);
        }
    }

    @Test
    @Tag("full")
    void etcd() throws Exception {
        try (EtcdServer server = EtcdServer.start()) {
            String store = "etcd://" + server.hostsAndPorts();
            check(store, 1, 1);
            several(store);
        }
    }

    @Test
    void zooKeeper() throws Exception {
        String classPath = System.getProperty("java.class.path");
        try (ZooKeeperServer server = ZooKeeperServer.builder(classPath).start()) {
            String store = "zookeeper://" + server.connectString() + "/locks";
            check(store, 1, 1);
            several(store);
        }
    }

    @Test
    @Tag("full")
    void consul() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            String store = "consul://127.0.0.1:" + server.agent().port() + "/locks/?lock-delay=0s";
            check(store, 0, 1); // the doctor warns of a single server
            try (CliRun run = CliRun.patient(store, "run", "--lease", "2s", "short", "--", "true")) {
                assertThat(run.status()).isEqualTo(64);
                assertThat(run.err()).contains("lease").hasLineCount(1);
            }
        }
    }

    @Test
    void memcached() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            check("memcached://" + server.host() + ":" + server.port(), 0, 0);
        }
    }

    @Test
    void postgres() throws Exception {
        try (PostgresServer server = PostgresServer.start()) {
            String login = "?user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD;
            String store = server.url() + login + "&holdfast.createTable=true";
            check(store, 0, 0);
            several(store);
            listsSessions(store + "&holdfast.strategy=session");
        }
    }

    @Test
    @Tag("full")
    void mariaDb() throws Exception {
        try (MariaDbServer server = MariaDbServer.start()) {
            String login = "?user=" + MariaDbServer.USER + "&password=" + MariaDbServer.PASSWORD;
            String store = server.url("mariadb") + login + "&holdfast.createTable=true";
            check(store, 0, 0);
            several(store);
        }
    }

    @Test
    void h2InAFile() throws Exception {
        String url = "jdbc:h2:file:" + folder.resolve("locks") + ";AUTO_SERVER=TRUE?holdfast.createTable=true";
        try (CliRun run = CliRun.patient(url, "run", "one", "--", "sh", "-c", "echo $HOLDFAST_TOKEN")) {
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out()).matches("[1-9][0-9]*\n");
        }
    }

    /** Two commands write to one file, each with a pause between reading and writing; no update is lost. */
    private void check(String store, int waiters, int doctorStatus) throws Exception {
        Path counter = Files.writeString(folder.resolve("counter"), "0\n");
        Path go = folder.resolve("go");
        String add = "echo in; while [ ! -e " + go + " ]; do sleep 0.05; done; read n <" + counter
                + "; sleep 0.2; echo $((n + 1)) >" + counter;
        try (CliRun first = CliRun.patient(store, "run", "hosts/counter", "--", "sh", "-c", add)) {
            first.awaitOut("in");
            try (CliRun second = CliRun.patient(store, "run", "hosts/counter", "--", "sh", "-c", add)) {
                if (waiters > 0) {
                    first.await("the second one waits", () -> list(store).contains("waits: "));
                }
                look(store, first.pid());
                Files.createFile(go);
                assertThat(first.status()).as(first.err()).isZero();
                assertThat(second.status()).as(second.err()).isZero();
            }
        }
        assertThat(Files.readString(counter)).isEqualTo("2\n");
        Said doctor = said("doctor", store);
        assertThat(doctor.status()).as(doctor.toString()).isEqualTo(doctorStatus);
        assertThat(doctor.out()).contains("a lock and its release take").contains("clocks");
    }

    /**
     * The holder, by {@code holder}, and by {@code ls} for people, for programs and with {@code --watch}, where the
     * store can list.
     */
    private void look(String store, long pid) throws Exception {
        Said holder = said("holder", "--store", store, "hosts/counter", "--json");
        assertThat(holder.status()).as(holder.err()).isZero();
        assertThat(holder.out()).contains("\"held\":true").contains("\"pid\":" + pid);
        try (CliRun ls = CliRun.patient(store, "ls", "--json", "--watch", "--interval", "100ms", "hosts/")) {
            if (store.startsWith("consul") || store.startsWith("memcached")) {
                assertThat(ls.status()).isEqualTo(78);
                assertThat(ls.err()).contains("list").hasLineCount(1);
                return;
            }
            ls.await("listed twice", () -> ls.out().lines().count() >= 2);
            assertThat(ls.out().lines()).allMatch(line -> line.startsWith("{\"locks\":[") && line.endsWith("}"));
            assertThat(ls.out()).contains("\"name\":\"hosts/counter\"").contains("\"pid\":" + pid);
        }
        assertThat(list(store)).contains("hosts/counter  ").contains(" pid " + pid);
    }

    /** A row that says who holds a lock is written after a moment. */
    private static void listsSessions(String store) throws Exception {
        try (LockClient client = LockClient.connect(store, FIRST);
                Lease lease = client.lock("sessions/report").acquire(PATIENCE);
                CliRun ls = CliRun.patient(store, "ls", "sessions/", "--watch", "--interval", "100ms")) {
            String line = " pid " + ProcessHandle.current().pid() + " since ";
            ls.await("listed", () -> ls.out().contains(line));
            assertThat(ls.out()).contains("sessions/report  ").contains(" token " + lease.token());
        }
    }

    /** Two readers and two holders of permits: each has a line and an object. */
    private static void several(String store) throws Exception {
        try (LockClient one = LockClient.connect(store, FIRST);
                LockClient two = LockClient.connect(store, FIRST)) {
            Lease first = one.readWriteLock("several/prices").readLock().acquire(PATIENCE);
            Lease second = two.readWriteLock("several/prices").readLock().acquire(PATIENCE);
            String pid = " pid " + ProcessHandle.current().pid() + " since ";

            Said holder = said("holder", "--store", store, "several/prices");
            assertThat(holder.status()).as(holder.err()).isZero();
            assertThat(holder.out().lines())
                    .satisfiesExactlyInAnyOrder(
                            line -> assertThat(line).contains(pid).endsWith(" token " + first.token() + " shared"),
                            line -> assertThat(line).contains(pid).endsWith(" token " + second.token() + " shared"));
            one.semaphore("several/printers", 4).acquire(2, PATIENCE);
            two.semaphore("several/printers", 4).acquire(1, PATIENCE);
            Said ls = said("ls", "--store", store, "several/");
            assertThat(ls.status()).as(ls.err()).isZero();
            assertThat(ls.out().lines().toList()).hasSize(4).satisfies(lines -> {
                assertThat(lines.get(0)).startsWith("several/prices  ").endsWith(" shared");
                assertThat(lines.get(1)).startsWith("  with: ").endsWith(" shared");
                assertThat(lines.get(2))
                        .startsWith("several/printers  ")
                        .contains(pid)
                        .endsWith(" permits");
                assertThat(lines.subList(2, 4))
                        .anyMatch(line -> line.endsWith(" slot 1, 2 of 4 permits"))
                        .anyMatch(line -> line.endsWith(" slot 2, 1 of 4 permits"));
            });
            Said objects = said("ls", "--store", store, "several/", "--json");
            assertThat(objects.status()).as(objects.err()).isZero();
            assertThat(objects.out()).contains("\"name\":\"several/prices\",\"held\":true,\"holders\":[{");
            assertThat(objects.out().split("\"demand\":\"shared\"}", -1))
                    .as("shared")
                    .hasSize(3);
            assertThat(objects.out())
                    .contains("\"demand\":\"permits\",\"permits\":2,\"limit\":4,\"slot\":1}")
                    .contains("\"demand\":\"permits\",\"permits\":1,\"limit\":4,\"slot\":2}");
        }
    }

    private static String list(String store) {
        Said ls = said("ls", "--store", store, "hosts/");
        assertThat(ls.status()).as(ls.err()).isZero();
        return ls.out();
    }

    /** What the command says that only looks; in this process, because a JVM for each would take longer than all else here. */
    private record Said(int status, String out, String err) {}

    private static Said said(String command, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> patient = new ArrayList<>(List.of(command, "--timeout", PATIENCE.toSeconds() + "s"));
        patient.addAll(List.of(args));
        int status = Holdfast.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(patient.toArray(String[]::new));
        return new Said(status, out.toString(), err.toString());
    }
}
