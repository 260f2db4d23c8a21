package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Misuse of a command: odd names, missing dashes, readers that go away, signals at a bad moment. */
@House("containers:signals")
class HardCasesIT {
    private static RedisServer redis;

    @BeforeAll
    static void startServer() throws Exception {
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        redis.close();
    }

    private static String store() {
        return "redis://" + redis.host() + ":" + redis.port();
    }

    private static CliRun run(String... args) throws Exception {
        return CliRun.start(store(), args);
    }

    @Test
    void withoutTheTwoDashes_theCommandsOptionsWouldBeOurs_64() throws Exception {
        try (CliRun run = run("run", "dashes", "echo", "-n", "ran")) {
            assertThat(run.status()).isEqualTo(64);
            assertThat(run.err()).contains("--");
            assertThat(run.out()).isEmpty();
        }
        try (CliRun run = run("elect", "dashes", "echo", "ran")) {
            assertThat(run.status()).isEqualTo(64);
        }
    }

    @Test
    void nameWithALeadingDash_afterTheTwoDashes() throws Exception {
        try (CliRun run = run("run", "--", "-n", "sh", "-c", "printf %s. \"$HOLDFAST_LOCK\"")) {
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out()).isEqualTo("-n.");
        }
        try (CliRun holder = run("holder", "--", "-n")) {
            assertThat(holder.status()).isEqualTo(1);
            assertThat(holder.out()).isEqualTo("free\n");
        }
    }

    @Test
    void nameWithANewline_isPassedOn_andStaysInItsLineInMessages() throws Exception {
        try (CliRun holder = run("run", "a\nb", "--", "sh", "-c", "echo \"$HOLDFAST_LOCK\"; read x")) {
            holder.awaitOut("a\nb\n");
            try (CliRun busy = run("run", "-n", "a\nb", "--", "true")) {
                assertThat(busy.status()).isEqualTo(75);
                assertThat(busy.err()).hasLineCount(1).contains("a");
            }
        }
    }

    @Test
    void endlessName_64_inOneLine() throws Exception {
        try (CliRun run = run("run", "x".repeat(5000), "--", "true")) {
            assertThat(run.status()).isEqualTo(64);
            assertThat(run.err()).hasLineCount(1).contains("512").hasSizeLessThan(300);
        }
    }

    @Test
    void watchWhoseReaderHasGone_ends() throws Exception {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "\"$@\" | head -n 1", "sh"));
        command.addAll(CliRun.java("ls", "--json", "--watch", "--interval", "100ms"));
        try (CliRun pipe = CliRun.start(store(), command)) {
            assertThat(pipe.status()).as(pipe.err()).isZero();
            assertThat(pipe.out()).hasLineCount(1);
        }
    }

    @Test
    void answerThatCannotBeWritten_74() throws Exception {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "\"$@\" >/dev/full", "sh"));
        command.addAll(CliRun.java("holder", "any"));
        try (CliRun full = CliRun.start(store(), command)) {
            assertThat(full.status()).isEqualTo(74);
            assertThat(full.err()).isEqualTo("holdfast: cannot write to standard output\n");
        }
    }

    @Test
    void signalledTwiceWhileWaiting_leavesNothing() throws Exception {
        try (CliRun holder = run("run", "twice", "--", "sh", "-c", "echo held; read x")) {
            holder.awaitOut("held");
            long before = redis.list("KEYS", "*{twice}*").size();
            try (CliRun waiter = run("run", "twice", "--", "true")) {
                waiter.await("it waits", () -> redis.list("KEYS", "*{twice}*").size() > before);
                redis.process().pause(); // so that the second signal comes before the first has ended the wait
                try {
                    waiter.signal("INT");
                    waiter.signal("INT");
                } finally {
                    redis.process().resume();
                }
                assertThat(waiter.status()).as(waiter.err()).isEqualTo(130);
            }
            holder.await(
                    "its place in the queue is free",
                    () -> redis.list("KEYS", "*{twice}*").size() == before);
        }
    }

    @Test
    void termToTheCommandAndUs_whileTheStoreStalls_releasesAllTheSame() throws Exception {
        try (CliRun run = run("run", "--lease", "60s", "both", "--", "sh", "-c", "echo $$; exec sleep 100")) {
            run.awaitOut("\n");
            long child = Long.parseLong(run.out().strip());
            redis.process().pause();
            try {
                run.signal("TERM");
                run.await("its child is dead", () -> ProcessHandle.of(child).isEmpty());
                run.signal("TERM"); // during the release
            } finally {
                redis.process().resume();
            }
            assertThat(run.status()).isEqualTo(143);
            try (CliRun next = run("run", "-n", "both", "--", "true")) {
                assertThat(next.status()).as(next.err()).isZero();
            }
        }
    }

    @Test
    void commandThatCannotBeReadAsUtf8_isRefused_notChanged() throws Exception {
        Path script =
                Files.writeString(Files.createTempFile("latin", ".sh"), "exec \"$@\" \"$(printf 'gr\\366\\337e')\"\n");
        List<String> command = new ArrayList<>(List.of("sh", script.toString()));
        command.addAll(CliRun.java("run", "latin", "--", "echo"));
        try (CliRun run = CliRun.start(store(), command)) {
            assertThat(run.status()).isEqualTo(64);
            assertThat(run.err()).contains("UTF-8").hasLineCount(1);
        } finally {
            Files.delete(script);
        }
    }
}
