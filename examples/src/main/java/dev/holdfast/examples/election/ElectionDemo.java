package dev.holdfast.examples.election;

import dev.holdfast.examples.parts.DemoFolder;
import dev.holdfast.examples.parts.StoreName;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Several JVMs run for election; the leaders are killed in turn, and a timeline shows who led when. */
@Command(
        name = "election",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpWidth = 100,
        showDefaultValues = true,
        description = {
            "Several JVMs run for election; the leaders are killed in turn.",
            "Or asked to resign, or paused for longer than their lease. Another one follows each time. A",
            "timeline shows who led when, and all claims to lead are compared: no two at once."
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:two or more led, no two at once, tokens rose, and late writes were refused",
            "1:anything else: two at once, not enough evidence to judge, or a failure",
            "2:wrong arguments"
        })
public final class ElectionDemo implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Option(
            names = "--backend",
            paramLabel = "URI",
            description = {
                "Where the leader's lock is: redis://…, etcd://…, zookeeper://…, consul://…,",
                "memcached://… or jdbc:… (default: an H2 database file in a temporary folder)"
            },
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable String backend;

    @Option(
            names = "--seconds",
            paramLabel = "N",
            description = "For how long leaders are ended, in each way once at least.")
    private int seconds = 20;

    @Option(names = "--candidates", paramLabel = "N", description = "JVMs that stand.")
    private int candidates = 4;

    @Option(names = "--lease-millis", paramLabel = "N", description = "The leader's lease.")
    private int leaseMillis = 2_000;

    private final PrintStream out;

    /**
     * A command that prints to a stream.
     *
     * @param out where it prints
     */
    public ElectionDemo(PrintStream out) {
        this.out = out;
    }

    @Override
    public Integer call() throws IOException {
        check();
        try (DemoFolder folder = DemoFolder.create()) {
            return elect(folder) ? 0 : 1;
        } catch (LockException | IOException | IllegalArgumentException | SQLException e) {
            spec.commandLine().getErr().println("demo: " + e.getMessage());
            return 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 1;
        }
    }

    private void check() {
        CommandSpec parent = spec.parent();
        if (parent != null
                && !parent.commandLine().getParseResult().matchedOptions().isEmpty()) {
            throw new ParameterException(spec.commandLine(), "write the options after 'election'");
        }
        positive("--seconds", seconds);
        positive("--lease-millis", leaseMillis);
        if (candidates < 2) {
            throw new ParameterException(spec.commandLine(), "--candidates must be 2 or more: leaders are killed");
        }
    }

    private void positive(String option, int value) {
        if (value < 1) {
            throw new ParameterException(spec.commandLine(), option + " must be positive, not " + value);
        }
    }

    private boolean elect(DemoFolder folder) throws IOException, SQLException, InterruptedException {
        String store = backend != null ? backend : folder.database("locks");
        CandidateConfig config =
                new CandidateConfig(store, "demo-leader/" + UUID.randomUUID(), leaseMillis, folder.database("ledger"));
        Path log = Files.createFile(folder.path().resolve("candidates.log"));
        // Fails for an unusable store before any candidate starts, and keeps the database files open in this process.
        try (LockClient client = config.connect();
                Ledger ledger = Ledger.open(config.ledger())) {
            client.lock(config.election()).acquire(Duration.ofSeconds(10)).close();
            ledger.begin();
            out.printf(
                    "Election: %d JVMs stand, on %s, with a lease of %s.%n",
                    candidates, StoreName.of(backend), TakeOvers.seconds(leaseMillis * 1_000L));
            out.println(
                    "A leader says every 5 ms that it leads, if its leadership is valid by its own clock, and writes");
            out.println("to a database row that refuses tokens lower than the highest that it has seen.");
            out.println();
            return new ElectionRun(config, candidates, Duration.ofSeconds(seconds), log, out)
                    .run()
                    .isGood();
        }
    }
}
