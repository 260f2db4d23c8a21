package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Options, output and exit status, in this process and with a file of H2. */
class CommandLineTest {
    @TempDir
    private Path folder;

    private String store = "";
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeEach
    void nameStore() {
        store = "jdbc:h2:file:" + folder.resolve("locks") + "?holdfast.createTable=true";
    }

    private int execute(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        CommandLine line =
                Holdfast.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    /** None of them uses a store or starts the command. */
    @Test
    void wrongOption_isSaid_64() {
        String[][] wrong = {
            {"Say what to do: run, elect, holder, ls or doctor"},
            {"Missing required parameter", "run", "n"},
            {"put -- between NAME and COMMAND", "run", "n", "true"},
            {"put -- between NAME and COMMAND", "elect", "n", "true"},
            {"put -- between NAME and COMMAND", "run", "n", "true", "--", "more"},
            {"an argument is not UTF-8", "run", "n", "--", "caf\uFFFD"},
            {"an argument is not UTF-8", "elect", "n", "--", "caf\uFFFD"},
            {"-E must be from 0 to 255", "run", "-E", "256", "n", "--", "true"},
            {"-E must be from 0 to 255", "run", "-E=-1", "n", "--", "true"},
            {"mutually exclusive", "run", "-n", "-w", "1s", "n", "--", "true"},
            {"write 500ms, 5s, 2m, 1h or 1d", "run", "--lease", "soon", "n", "--", "true"},
            {
                "--grace 14s must be more than nothing, and at most half of the lease of 15s; lengthen the lease",
                "run",
                "--grace",
                "14s",
                "n",
                "--",
                "true"
            },
            {"--grace 0s must be more than nothing", "elect", "--grace", "0s", "n", "--", "true"},
            {
                "--max-hold 2s must be longer than --grace 2s, or the command gets TERM at once",
                "run",
                "--grace",
                "2s",
                "--max-hold",
                "2s",
                "n",
                "--",
                "true"
            },
            {"but was 'bury'", "run", "--on-loss", "bury", "n", "--", "true"},
            {"--limit must be from 1 to 1000", "ls", "--limit", "0"},
            {"--limit must be from 1 to 1000", "ls", "--limit", "1001"},
            {"--interval must be at least 100ms, for the store's sake", "ls", "--interval", "99ms"},
            {"no store: give --store URI or --store-file FILE, or set HOLDFAST_STORE", "holder", "--store", " ", "n"},
            {"--timeout 0s must be more than nothing", "holder", "--store", "redis:", "--timeout", "0s", "n"},
            {"Unknown option: '--no'", "holder", "--no", "n"},
        };
        for (String[] each : wrong) {
            String[] args = java.util.Arrays.copyOfRange(each, 1, each.length);
            assertThat(execute(args)).as(String.join(" ", args)).isEqualTo(64);
            assertThat(err.toString()).contains(each[0]);
            assertThat(out.toString()).isEmpty();
        }
        assertThat(execute("holder", "--store", store, " ")).isEqualTo(64);
        assertThat(err.toString()).startsWith("holdfast: ").hasLineCount(1);
    }

    @Test
    void wrongStore_isSaid_78() {
        assertThat(execute("holder", "--store", "nosql:here", "n")).isEqualTo(78);
        assertThat(err.toString()).startsWith("holdfast: ").contains("nosql").hasLineCount(1);
    }

    @Test
    void storeInTheMemoryOfOneProcess_isRefused_78() {
        for (String memory : List.of("memory:", "memory:shared", "jdbc:h2:mem:locks", "JDBC:H2:MEM:locks;MODE=MySQL")) {
            for (String[] args : new String[][] {
                {"run", "--store", memory, "x", "--", "true"},
                {"elect", "--store", memory, "x", "--", "true"},
                {"doctor", memory},
                {"holder", "--store", memory, "x"},
                {"ls", "--store", memory}
            }) {
                assertThat(execute(args)).as(String.join(" ", args)).isEqualTo(78);
                assertThat(out + err.toString()).contains("memory of one process");
            }
        }
    }

    @Test
    void status_isOfTheKindOfFailure() {
        assertThat(Failures.status(new UsageException("x"))).isEqualTo(64);
        assertThat(Failures.status(new LockUnavailableException("x"))).isEqualTo(69);
        assertThat(Failures.status(new LockClosedException("x"))).isEqualTo(69);
        assertThat(Failures.status(new IllegalStateException("x"))).isEqualTo(70);
        assertThat(Failures.status(new LockTimeoutException("x"))).isEqualTo(75);
        assertThat(Failures.status(new LockConfigurationException("x"))).isEqualTo(78);
        assertThat(Failures.status(new IllegalArgumentException("x"))).isEqualTo(78);
        assertThat(Failures.status(new LeaseLostException("x", LossReason.EXPIRED, 1, null)))
                .isEqualTo(79);
    }

    @Test
    void holder_isALine_orFree_orJson() throws Exception {
        assertThat(execute("holder", "--store", store, "n")).isEqualTo(1);
        assertThat(out.toString()).isEqualTo("free\n");
        assertThat(execute("holder", "--store", store, "--json", "n")).isEqualTo(1);
        assertThat(out.toString()).isEqualTo("{\"name\":\"n\",\"held\":false,\"holders\":[]}\n");
        try (LockClient client = LockClient.connect(
                        store, LockClientOptions.builder().who("me").build());
                Lease lease = client.lock("n").acquire()) {
            assertThat(execute("holder", "--store", store, "n")).isZero();
            assertThat(out.toString())
                    .matches("me@\\S+ pid " + ProcessHandle.current().pid() + " since \\S+ token " + lease.token()
                            + "\n");
            assertThat(execute("holder", "--store", store, "--json", "n")).isZero();
            assertThat(out.toString())
                    .startsWith("{\"name\":\"n\",\"held\":true,\"holders\":[{\"who\":\"me\",")
                    .contains("\"token\":" + lease.token() + ",\"demand\":\"exclusive\"}");
        }
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void list_isOfThePrefix_upToTheLimit() throws Exception {
        assertThat(execute("ls", "--store", store)).isZero();
        assertThat(out.toString()).isEmpty();
        try (LockClient client = LockClient.connect(store)) {
            client.lock("a/1").acquire();
            client.lock("a/2").acquire();
            client.lock("b/1").acquire();
            assertThat(execute("ls", "--store", store, "--limit", "1000", "--interval", "100ms"))
                    .isZero();
            assertThat(out.toString().lines().map(line -> line.split(" ")[0])).containsExactly("a/1", "a/2", "b/1");
            assertThat(execute("ls", "--store", store, "a/")).isZero();
            assertThat(out.toString().lines()).hasSize(2);
            assertThat(execute("ls", "--store", store, "--limit", "1")).isZero();
            assertThat(out.toString().lines())
                    .hasSize(2)
                    .last()
                    .isEqualTo("… and more: give a longer PREFIX or a higher --limit");
            assertThat(execute("ls", "--store", store, "--limit", "1", "--json", "b"))
                    .isZero();
            assertThat(out.toString())
                    .startsWith("{\"locks\":[{\"name\":\"b/1\",\"held\":true,")
                    .endsWith(",\"waiters\":[]}],\"more\":false}\n");
        }
    }

    @Test
    void doctor_saysWhatItFinds_ofTheAddressThatIsGiven() {
        assertThat(execute("doctor", "--store", "nosql:here", store)).isIn(0, 1);
        assertThat(out.toString())
                .startsWith("ok       the store answers; connecting took ")
                .contains("\nok       a lock and its release take ", "(median of 20, slowest ", "locks in use: 0\n")
                .contains("the clocks of the store and of this host differ by less than a second\n");
        assertThat(execute("doctor", "--json", "--store", store)).isIn(0, 1);
        assertThat(out.toString().lines())
                .allSatisfy(line -> assertThat(line)
                        .startsWith("{\"grade\":\"")
                        .contains("\",\"observation\":\"", "\",\"remedy\":\"")
                        .endsWith("\"}"));
    }

    @Test
    void version_andHelp_are0() {
        assertThat(execute("--version")).isZero();
        assertThat(out.toString()).matches("holdfast \\S+\n");
        assertThat(execute("run", "--help")).isZero();
        assertThat(out.toString())
                .contains("Usage: holdfast run [--store URI]", "The lock is held by another client (-n, -w); -E");
    }

    @Test
    void manPage_isTheHelp_withoutWhatTroffWouldTakeForItsOwn() {
        String page = ManPage.text();
        assertThat(page).startsWith(".TH HOLDFAST 1 \"\" \"holdfast ");
        assertThat(page.lines().filter(line -> line.startsWith(".SH ")))
                .containsExactly(
                        ".SH NAME",
                        ".SH SYNOPSIS AND OPTIONS",
                        ".SH HOLDFAST RUN",
                        ".SH HOLDFAST ELECT",
                        ".SH HOLDFAST HOLDER",
                        ".SH HOLDFAST LS",
                        ".SH HOLDFAST DOCTOR");
        assertThat(page.lines()).noneMatch(line -> line.startsWith("'"));
        assertThat(page).contains("\\-\\-lease").doesNotContain("--lease");
    }
}
