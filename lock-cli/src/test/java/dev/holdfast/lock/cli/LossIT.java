package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.FaultProxy;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store disappears while {@code holdfast run} runs a command that refuses to end. */
class LossIT {
    /** Writes the time every few milliseconds, ignores TERM, and has a child of its own in another session that does too. */
    private static final String STUBBORN =
            "beat() { trap 'echo term >>\"$1.term\"' TERM; while :; do date +%s%N >\"$1.new\";"
                    + " mv \"$1.new\" \"$1\"; sleep 0.01; done; }; ";

    private RedisServer redis;
    private FaultProxy proxy;

    @TempDir
    private Path folder;

    @BeforeEach
    void startServer() throws Exception {
        redis = RedisServer.start();
        proxy = FaultProxy.to(redis.process());
    }

    @AfterEach
    void stopServer() throws Exception {
        proxy.close();
        redis.close();
    }

    private CliRun viaProxy(String... args) throws Exception {
        return CliRun.start("redis://" + proxy.host() + ":" + proxy.port(), args);
    }

    private CliRun direct(String... args) throws Exception {
        return CliRun.start("redis://" + redis.host() + ":" + redis.port(), args);
    }

    private String stubborn() throws Exception {
        Path script = folder.resolve("stubborn.sh");
        Files.writeString(script, STUBBORN + "if [ \"$2\" ]; then setsid sh \"$0\" \"$2\" & fi; beat \"$1\"\n");
        return script.toString();
    }

    @Test
    void cutOff_theCommandAndItsChildrenAreDead_beforeTheStoreGrantsTheLockAgain() throws Exception {
        Path child = folder.resolve("child");
        Path grandchild = folder.resolve("grandchild");
        try (CliRun run = viaProxy(
                "run", "--lease", "8s", "--grace", "3s", "cut", "--", "sh", stubborn(), "" + child, "" + grandchild)) {
            run.await("both beat", () -> Files.exists(child) && Files.exists(grandchild));
            try (CliRun next = direct("run", "-w", "60s", "cut", "--", "date", "+%s%N")) {
                next.await(
                        "it is in the queue",
                        () -> redis.list("KEYS", "*{cut}*").size() > 1);

                proxy.cut();

                assertThat(run.status()).as(run.err()).isEqualTo(79);
                assertThat(next.status()).as(next.err()).isZero();
                long granted = Long.parseLong(next.out().strip());
                assertThat(beat(child))
                        .as("last beat of the child, next grant at %d", granted)
                        .isLessThan(granted);
                assertThat(beat(grandchild))
                        .as("last beat of the grandchild, next grant at %d", granted)
                        .isLessThan(granted);
            }
            assertThat(folder.resolve("child.term")).as("asked to end first").exists();
            assertThat(folder.resolve("grandchild.term"))
                    .as("asked to end first")
                    .exists();
            assertThat(run.err().toLowerCase(Locale.ROOT))
                    .contains("sending term")
                    .contains("killing");
        }
    }

    private static long beat(Path file) throws Exception {
        return Long.parseLong(Files.readString(file).strip());
    }

    @Test
    void frozenStore_commandThatObeysTerm_79() throws Exception {
        try (CliRun run = direct(
                "run",
                "--lease",
                "9s",
                "frozen",
                "--",
                "sh",
                "-c",
                "trap 'echo bye; exit 0' TERM; echo ready; read x")) {
            run.awaitOut("ready");
            redis.process().pause();
            assertThat(run.status()).isEqualTo(79);
            assertThat(run.out()).contains("bye");
        } finally {
            redis.process().resume();
        }
    }

    @Test
    void deletedLock_commandIsKilledAtTheNextRenewal() throws Exception {
        try (CliRun run = direct("run", "--lease", "9s", "deleted", "--", "sh", "-c", "echo ready; exec sleep 100")) {
            run.awaitOut("ready");
            redis.command("FLUSHALL");
            assertThat(run.status()).isEqualTo(79);
            assertThat(run.err()).contains("the lease is lost (REVOKED)");
        }
    }

    @Test
    void nobodyReadsOurMessages_theCommandIsKilledAllTheSame() throws Exception {
        String script = "trap '' TERM; head -c 1000000 /dev/zero >&2 & echo $$; while :; do sleep 0.1; done";
        List<String> command = CliRun.java("run", "--lease", "3s", "unread", "--", "sh", "-c", script);
        ProcessBuilder builder = new ProcessBuilder(command); // its standard error is a pipe without a reader
        builder.environment().put(StoreOptions.VARIABLE, "redis://" + redis.host() + ":" + redis.port());
        Process run = builder.start();
        try (BufferedReader out = run.inputReader()) {
            ProcessHandle program =
                    ProcessHandle.of(Long.parseLong(out.readLine())).orElseThrow();
            redis.command("FLUSHALL");
            program.onExit().get(60, TimeUnit.SECONDS);
            assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(run.exitValue()).isEqualTo(79);
        } finally {
            run.descendants().forEach(ProcessHandle::destroyForcibly);
            run.destroyForcibly();
        }
    }

    @Test
    void ignoredLoss_commandGoesOn_withItsOwnStatus() throws Exception {
        try (CliRun run = direct(
                "run",
                "--lease",
                "3s",
                "--on-loss",
                "ignore",
                "ignored",
                "--",
                "sh",
                "-c",
                "echo ready; read x; exit 4")) {
            run.awaitOut("ready");
            redis.command("FLUSHALL");
            run.await("the loss is reported", () -> run.err().contains("goes on, as you asked"));
            run.type("\n");
            assertThat(run.status()).isEqualTo(4);
        }
    }

    @Test
    void maxHold_endsTheCommand() throws Exception {
        try (CliRun run =
                direct("run", "--lease", "3s", "--grace", "1s", "--max-hold", "2s", "long", "--", "sleep", "100")) {
            assertThat(run.status()).isEqualTo(79);
        }
    }

    @Test
    void storeKilledWhileWaiting_69() throws Exception {
        try (CliRun holder = direct("run", "--lease", "60s", "wait", "--", "sh", "-c", "echo held; read x")) {
            holder.awaitOut("held");
            try (CliRun waiter = direct("run", "-w", "10s", "wait", "--", "true")) {
                waiter.await(
                        "it is in the queue",
                        () -> redis.list("KEYS", "*{wait}*").size() > 1);
                redis.process().kill();
                assertThat(waiter.status()).as(waiter.err()).isEqualTo(69);
            }
            holder.type("\n");
            assertThat(holder.status())
                    .as("its command had ended before its lease")
                    .isZero();
        }
    }
}
