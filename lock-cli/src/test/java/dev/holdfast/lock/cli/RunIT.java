package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code holdfast run}: exit statuses, environment, input and output, signals. */
class RunIT {
    /** A process that uses it is ready in half the time that one on Redis takes. */
    private static MemcachedServer memcached;

    private static RedisServer redis;

    @TempDir
    private Path folder;

    @BeforeAll
    static void startServer() throws Exception {
        memcached = MemcachedServer.start();
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        redis.close();
        memcached.close();
    }

    private static String store() {
        return "memcached://" + memcached.host() + ":" + memcached.port();
    }

    /** For a test that looks at the queue of waiters. */
    private static CliRun onRedis(String... args) throws Exception {
        return CliRun.start("redis://" + redis.host() + ":" + redis.port(), args);
    }

    private static CliRun run(String... args) throws Exception {
        return CliRun.start(store(), args);
    }

    private static int statusOf(String... args) throws Exception {
        try (CliRun run = run(args)) {
            return run.status();
        }
    }

    @Test
    void status_isThatOfTheCommand_asAShellHasIt() throws Exception {
        assertThat(statusOf("run", "status", "--", "sh", "-c", "exit 3")).isEqualTo(3);
        assertThat(statusOf("run", "status", "--", "sh", "-c", "kill -TERM $$")).isEqualTo(143);
        assertThat(statusOf("run", "status", "--", folder.resolve("nothing").toString()))
                .isEqualTo(127);
        Path text = Files.writeString(folder.resolve("text"), "not executable");
        assertThat(statusOf("run", "status", "--", text.toString())).isEqualTo(126);
    }

    @Test
    void command_getsNameAndToken_inputAndOutput_andNothingElseIsPrinted() throws Exception {
        String script = "read line; echo \"$HOLDFAST_LOCK $HOLDFAST_TOKEN $line\"; echo mine >&2";
        try (CliRun run = run("run", "jobs/a b", "--", "sh", "-c", script)) {
            run.type("typed\n");
            assertThat(run.status()).isZero();
            assertThat(run.out()).matches("jobs/a b [1-9][0-9]+ typed\n");
            assertThat(run.err()).isEqualTo("mine\n");
        }
    }

    @Test
    void commandsOwnOptions_areItsOwn() throws Exception {
        try (CliRun run = run("run", "options", "--", "printf", "%s.", "-n", "--", "@x", "${y}")) {
            assertThat(run.status()).isZero();
            assertThat(run.out()).isEqualTo("-n.--.@x.${y}.");
        }
    }

    @Test
    void heldLock_busyAtOnce_orAfterTheWait_withTheChosenStatus() throws Exception {
        try (CliRun holder = run("run", "busy", "--", "sh", "-c", "echo held; exec sleep 100")) {
            holder.awaitOut("held");
            assertThat(statusOf("run", "--timeout", "20s", "-n", "busy", "--", "true"))
                    .isEqualTo(75);
            assertThat(statusOf("run", "--timeout", "20s", "-w", "6s", "-E", "9", "busy", "--", "true"))
                    .isEqualTo(9);
            try (CliRun asked = run("holder", "busy", "--json")) {
                assertThat(asked.status()).isZero();
                assertThat(asked.out()).contains("\"held\":true", "\"pid\":" + holder.pid());
            }
            holder.signal("TERM");
            assertThat(holder.status()).isEqualTo(143);
            try (CliRun asked = run("holder", "busy")) {
                assertThat(asked.status()).isEqualTo(1);
                assertThat(asked.out()).isEqualTo("free\n");
            }
        }
    }

    @Test
    void wrongOptions_64_wrongStore_78_noStore_69() throws Exception {
        assertThat(statusOf("run", "name")).isEqualTo(64);
        assertThat(statusOf("run", "-n", "-w", "1s", "name", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--lease", "soon", "name", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--lease", "1ms", "name", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--grace", "14s", "name", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--grace", "2s", "--max-hold", "2s", "name", "--", "true"))
                .isEqualTo(64);
        assertThat(statusOf("run", " ", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--timeout", "0s", "name", "--", "true")).isEqualTo(64);
        assertThat(statusOf("run", "--store", "nosql:here", "name", "--", "true"))
                .isEqualTo(78);
        assertThat(statusOf("run", "--store", "redis://127.0.0.1:1", "name", "--", "true"))
                .isEqualTo(69);
    }

    @Test
    void term_goesToTheCommand_andItsChildren_whoseEndIsAwaited() throws Exception {
        String script = "sh -c 'trap \"echo grandchild; exit 0\" TERM; echo ready; while :; do sleep 0.1; done' & "
                + "trap 'wait; echo child; exit 5' TERM; wait; wait";
        try (CliRun run = run("run", "tree", "--", "sh", "-c", script)) {
            run.awaitOut("ready");
            run.signal("TERM");
            assertThat(run.status()).isEqualTo(5);
            assertThat(run.out()).contains("grandchild").contains("child");
        }
    }

    @Test
    void intAndHup_areForwarded() throws Exception {
        String script = "trap 'echo hup' HUP; trap 'echo int; exit 6' INT; echo ready; while :; do sleep 0.1; done";
        try (CliRun run = run("run", "signals", "--", "bash", "-c", script)) {
            run.awaitOut("ready");
            run.signal("HUP");
            run.awaitOut("hup");
            run.signal("INT");
            assertThat(run.status()).isEqualTo(6);
            assertThat(run.out()).contains("int");
        }
    }

    @Test
    void commandThatIgnoresTerm_keepsTheLock() throws Exception {
        try (CliRun run = run(
                "run", "stubborn", "--", "sh", "-c", "trap 'echo no' TERM; echo ready; read x || read x || read x")) {
            run.awaitOut("ready");
            run.signal("TERM");
            run.awaitOut("no");
            assertThat(statusOf("run", "-n", "stubborn", "--", "true")).isEqualTo(75);
            run.type("\n");
            assertThat(run.status()).isZero();
        }
    }

    @Test
    void signalWhileWaiting_endsTheWait_andLeavesNothing() throws Exception {
        try (CliRun holder = onRedis("run", "wait", "--", "sh", "-c", "echo held; read x")) {
            holder.awaitOut("held");
            try (CliRun waiter = onRedis("run", "wait", "--", "true")) {
                holder.await(
                        "a waiter is in the queue",
                        () -> redis.list("KEYS", "*{wait}*").size() > 1);
                waiter.signal("INT");
                assertThat(waiter.status()).isEqualTo(130);
            }
            holder.type("\n");
            assertThat(holder.status()).isZero();
            try (CliRun next = onRedis("run", "-n", "wait", "--", "true")) {
                assertThat(next.status()).isZero();
            }
        }
    }

    @Test
    void storeThatDoesNotAnswer_isGivenUpAfterTheTimeout_69() throws Exception {
        try (ServerSocket silent = new ServerSocket(0)) {
            String store = "redis://127.0.0.1:" + silent.getLocalPort();
            long started = System.nanoTime();
            try (CliRun run = CliRun.start(store, "holder", "--timeout", "8s", "name")) {
                assertThat(run.status()).isEqualTo(69);
                assertThat(run.err()).contains("does not answer").hasLineCount(1);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - started)).isGreaterThan(Duration.ofSeconds(8));
        }
    }

    @Test
    void signalWhileConnecting_endsIt() throws Exception {
        try (ServerSocket silent = new ServerSocket(0);
                CliRun run =
                        run("run", "--store", "redis://127.0.0.1:" + silent.getLocalPort(), "name", "--", "true")) {
            try (Socket connected = silent.accept()) {
                run.signal("TERM");
                assertThat(run.status()).as(run.err()).isEqualTo(143);
            }
        }
    }

    @Test
    void nestedRun_keepsTheMarkOfTheOuterOne() throws Exception {
        List<String> command = new ArrayList<>(
                List.of("run", "--keep-store", "outer", "--", "sh", "-c", "echo \"$HOLDFAST_RUN\"; exec \"$@\"", "sh"));
        command.addAll(CliRun.java("run", "inner", "--", "sh", "-c", "echo \"$HOLDFAST_RUN\""));
        try (CliRun run = run(command.toArray(String[]::new))) {
            assertThat(run.status()).isZero();
            String[] marks = run.out().split("\n");
            assertThat(marks).hasSize(2);
            assertThat(marks[0]).isNotEmpty();
            assertThat(marks[1]).startsWith(marks[0]).isNotEqualTo(marks[0]);
        }
    }

    @Test
    void killedHoldfast_commandDiesWithIt_andTheLeaseEndsTheLock() throws Exception {
        String script = "echo child $$; exec sleep 100";
        try (CliRun run = run("run", "--lease", "6s", "killed", "--", "sh", "-c", script)) {
            String out = run.awaitOut("child ");
            long child = Long.parseLong(out.strip().split(" ")[1]);
            run.signal("KILL");
            assertThat(run.status()).isEqualTo(137);
            run.await("the child is dead", () -> ProcessHandle.of(child).isEmpty());
            assertThat(statusOf("run", "-w", "60s", "killed", "--", "true")).isZero();
        }
    }
}
