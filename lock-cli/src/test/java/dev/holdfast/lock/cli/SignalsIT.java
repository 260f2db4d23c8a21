package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The lock lasts as long as the work does, whatever signal comes, and whether it comes to holdfast alone or to its group. */
@House("process:signals")
class SignalsIT {
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
        return CliRun.patient("redis://" + redis.host() + ":" + redis.port(), args);
    }

    private static CliRun run(String... args) throws Exception {
        return CliRun.patient(store(), args);
    }

    /** A program that needs some time to end properly. */
    private Path worker(Path diary, double secondsToEnd) throws Exception {
        Path file = Files.writeString(
                folder.resolve("worker.sh"),
                "trap 'sleep " + secondsToEnd + "; echo worker has ended >>" + diary + "; exit 0' TERM\n"
                        + "echo working >>" + diary + "\nwhile :; do sleep 0.05; done\n");
        return file;
    }

    @Test
    void term_scriptDiesAtOnce_itsProgramDoesNot_theNextHolderWaitsForIt() throws Exception {
        Path diary = folder.resolve("diary");
        Path worker = worker(diary, 2);
        try (CliRun first = onRedis("run", "term", "--", "sh", "-c", "sh " + worker + "; echo ready")) {
            first.await("the worker works", () -> Files.exists(diary));
            try (CliRun second = onRedis("run", "term", "--", "sh", "-c", "echo second holder >>" + diary)) {
                second.await(
                        "a waiter is in the queue",
                        () -> redis.list("KEYS", "*{term}*").size() > 1);
                first.signal("TERM");
                assertThat(first.status()).isEqualTo(143);
                assertThat(second.status()).isZero();
            }
            assertThat(first.err()).contains("waiting for what it started");
        }
        assertThat(Files.readAllLines(diary)).containsExactly("working", "worker has ended", "second holder");
    }

    /** Java itself sees to HUP, INT and TERM. */
    @Test
    void signalThatIsIgnoredAtTheStart_staysIgnored() throws Exception {
        List<String> command = new ArrayList<>(List.of("env", "--ignore-signal=USR1"));
        command.addAll(CliRun.java("run", "--timeout", "20s", "ignoring", "--", "sh", "-c", "echo ready; sleep 2"));
        try (CliRun run = CliRun.start(store(), command)) {
            run.awaitOut("ready");
            run.signal("USR1");
            assertThat(run.status())
                    .as("a signal that is forwarded ends the program")
                    .isZero();
        }
    }

    @Test
    void term_programThatDoesNotEnd_isKilledAfterTheStopTime() throws Exception {
        Path diary = folder.resolve("diary");
        Path worker = worker(diary, 1000);
        try (CliRun run =
                run("run", "--stop-time", "1s", "jobs/stuck", "--", "sh", "-c", "sh " + worker + "; echo ready")) {
            run.await("the worker works", () -> Files.exists(diary));
            run.signal("TERM");
            assertThat(run.status()).isEqualTo(143);
            assertThat(run.err()).contains("killing it");
        }
        try (CliRun next = run("run", "-n", "jobs/stuck", "--", "true")) {
            assertThat(next.status()).isZero();
        }
    }

    @Test
    void scriptThatIsKilledByItself_itsProgramIsAskedToEnd_andWaitedFor() throws Exception {
        Path diary = folder.resolve("diary");
        Path worker = worker(diary, 0.5);
        try (CliRun run = run("run", "jobs/oom", "--", "sh", "-c", "echo $$; sh " + worker + "; echo ready")) {
            run.await("the worker works", () -> Files.exists(diary));
            CliRun.signal("KILL", Long.parseLong(run.out().strip()));
            assertThat(run.status()).isEqualTo(137);
        }
        assertThat(Files.readAllLines(diary)).containsExactly("working", "worker has ended");
    }

    @Test
    void everySignal_goesToTheCommand_once() throws Exception {
        List<String> signals = List.of("USR1", "ALRM", "VTALRM", "PROF", "XCPU", "IO", "PWR", "HUP");
        String script = "for s in " + String.join(" ", signals) + "; do trap \"echo got $s\" $s; done; "
                + "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done";
        try (CliRun run = run("run", "jobs/signals", "--", "bash", "-c", script)) {
            String expected = "ready\n";
            run.awaitOut(expected);
            for (String signal : signals) {
                run.signal(signal);
                expected += "got " + signal + "\n";
                run.awaitOut(expected);
            }
            run.signal("INT");
            assertThat(run.status()).isEqualTo(9);
            assertThat(run.out()).isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void signalToTheWholeGroup_reachesTheCommandOnce(String signal) throws Exception {
        String script = "n=0; trap 'n=$((n+1)); echo $n' " + signal + "; echo ready; "
                + "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.1; done; exit 4";
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(CliRun.java("run", "--timeout", "20s", "group/" + signal, "--", "bash", "-c", script));
        try (CliRun run = CliRun.start(store(), command)) {
            run.awaitOut("ready");
            Process kill = new ProcessBuilder("bash", "-c", "kill -" + signal + " -- -" + run.pid()).start();
            assertThat(kill.waitFor()).isZero();
            assertThat(run.status()).isEqualTo(4);
            assertThat(run.out()).isEqualTo("ready\n1\n");
        }
    }

    @Test
    void sigkillOfHoldfast_endsTheCommand_andWhatItStarted() throws Exception {
        Path diary = folder.resolve("diary");
        Path worker = worker(diary, 1000);
        try (CliRun run = run("run", "jobs/killed", "--", "sh", "-c", "setsid sh " + worker + " & echo $$ $!; wait")) {
            run.await("the worker works", () -> Files.exists(diary));
            String[] pids = run.out().strip().split(" ");
            run.signal("KILL");
            assertThat(run.status()).isEqualTo(137);
            for (String pid : pids) {
                run.await("process " + pid + " is dead", () -> isDead(Long.parseLong(pid)));
            }
        }
    }

    /** Most programs die of such a signal, and the command's own children do not expect it. */
    @Test
    void usr1_goesToTheCommandAlone() throws Exception {
        String script = "sleep 2 & trap 'echo got it' USR1; echo ready; wait; wait; echo $?";
        try (CliRun run = run("run", "jobs/alone", "--", "bash", "-c", script)) {
            run.awaitOut("ready");
            run.signal("USR1");
            assertThat(run.status()).isZero();
            assertThat(run.out()).isEqualTo("ready\ngot it\n0\n");
        }
    }

    /** The warden must not match: its report would say that the command has the signal already. */
    @Test
    void pkillByThisCommandsName_endsTheCommand() throws Exception {
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(
                CliRun.java("run", "--timeout", "20s", "jobs/pkill", "--", "sh", "-c", "echo ready; exec sleep 100"));
        try (CliRun run = CliRun.start(store(), command)) {
            run.awaitOut("ready");
            String session = Long.toString(run.pid());
            Process pkill = new ProcessBuilder("pkill", "-TERM", "-s", session, "-f", "holdfast").start();
            assertThat(pkill.waitFor()).isZero();
            assertThat(run.status()).isEqualTo(143);
        }
    }

    private static boolean isDead(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/stat")).contains(") Z ");
        } catch (java.io.IOException e) {
            return true;
        }
    }

    @Test
    void shortJob_keepsTheLockForItsMinHold() throws Exception {
        try (LockClient client = LockClient.connect(store());
                CliRun run =
                        run("run", "-n", "--min-hold", "4s", "jobs/short", "--", "sh", "-c", "echo done; exit 5")) {
            run.awaitOut("done");
            long done = System.nanoTime();
            assertThat(client.lock("jobs/short").tryAcquire()).isEmpty();
            assertThat(run.status()).isEqualTo(5);
            assertThat(System.nanoTime() - done).isGreaterThan(3_000_000_000L);
            assertThat(client.lock("jobs/short").tryAcquire()).isPresent();
        }
    }

    @Test
    void busyLock_isSilent_withQuiet_orAStatusOfOnesOwn() throws Exception {
        try (LockClient client = LockClient.connect(store());
                Lease held = client.lock("quiet").acquire()) {
            for (String[] options : List.of(new String[] {"-q"}, new String[] {"-E", "0"})) {
                List<String> args = new ArrayList<>(List.of("run", "-n"));
                args.addAll(List.of(options));
                args.addAll(List.of("quiet", "--", "echo", "again"));
                try (CliRun run = run(args.toArray(String[]::new))) {
                    assertThat(run.status()).isEqualTo(options.length == 1 ? 75 : 0);
                    assertThat(run.out() + run.err()).isEmpty();
                }
            }
            assertThat(held.isValid()).isTrue();
        }
    }

    @Test
    void storesAddress_isNotInherited_andMayComeFromAFile() throws Exception {
        Path file = Files.writeString(folder.resolve("store"), "# our locks\n" + store() + "\n");
        try (CliRun run = run("run", "inherited", "--", "sh", "-c", "echo [$HOLDFAST_STORE]")) {
            assertThat(run.status()).isZero();
            assertThat(run.out()).isEqualTo("[]\n");
        }
        try (CliRun run = run("run", "--keep-store", "inherited", "--", "sh", "-c", "echo [$HOLDFAST_STORE]")) {
            assertThat(run.status()).isZero();
            assertThat(run.out()).isEqualTo("[" + store() + "]\n");
        }
        Files.setPosixFilePermissions(file, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r-----"));
        try (CliRun run =
                CliRun.patient("redis://127.0.0.1:1", "run", "--store-file", file.toString(), "file", "--", "true")) {
            assertThat(run.status()).as(run.err()).isZero();
        }
        Files.setPosixFilePermissions(file, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
        try (CliRun run = run("run", "--store-file", file.toString(), "file", "--", "true")) {
            assertThat(run.status()).isEqualTo(78);
            assertThat(run.err()).contains("chmod 640");
        }
    }
}
