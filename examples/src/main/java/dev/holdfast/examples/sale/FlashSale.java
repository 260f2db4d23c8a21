package dev.holdfast.examples.sale;

import dev.holdfast.examples.election.ElectionDemo;
import dev.holdfast.examples.parts.DemoFolder;
import dev.holdfast.examples.parts.StoreName;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
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

/** Sells a limited stock from several JVMs, first without a lock, then with one, and shows the difference. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = {
            "Several JVMs sell one limited stock in a database file: first without a lock, which oversells,",
            "then with a Holdfast lock. One of them is killed while it holds the lock."
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:oversold without the lock, and not with it",
            "1:anything else: oversold under the lock, not oversold without it, no take-over, or a failure",
            "2:wrong arguments"
        })
public final class FlashSale implements Callable<Integer> {

    private static final int STOCK_PER_SECOND = 60;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Option(
            names = "--backend",
            paramLabel = "URI",
            description = {
                "Where the lock is: redis://…, etcd://…, zookeeper://…, memcached://… or jdbc:…",
                "(default: an H2 database file in a temporary folder)"
            },
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable String backend;

    @Option(names = "--seconds", paramLabel = "N", description = "How long each of the two sales may last.")
    private int seconds = 10;

    @Option(names = "--processes", paramLabel = "N", description = "JVMs that sell.")
    private int processes = 3;

    @Option(names = "--threads", paramLabel = "N", description = "Sellers in each JVM.")
    private int threads = 4;

    @Option(
            names = "--stock",
            paramLabel = "N",
            description = "How many there are to sell (default: 60 a second).",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private int stock;

    @Option(names = "--think-micros", paramLabel = "N", description = "Time between reading and writing the stock.")
    private int thinkMicros = 3_000;

    @Option(names = "--lease-millis", paramLabel = "N", description = "The lock's lease.")
    private int leaseMillis = 2_000;

    private final PrintStream out;

    private FlashSale(PrintStream out) {
        this.out = out;
    }

    /**
     * Runs the demo.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        System.exit(run(new PrintStream(System.out, true, StandardCharsets.UTF_8), arguments));
    }

    /** Runs the demo and returns its exit code. */
    static int run(PrintStream out, String... arguments) {
        return new CommandLine(new FlashSale(out))
                .addSubcommand(new ElectionDemo(out))
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        check();
        try (DemoFolder folder = DemoFolder.create()) {
            return sell(folder);
        } catch (LockException | IOException | IllegalArgumentException | SQLException e) {
            spec.commandLine().getErr().println("demo: " + e.getMessage());
            return 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 1;
        }
    }

    private void check() {
        positive("--seconds", seconds);
        positive("--threads", threads);
        positive("--lease-millis", leaseMillis);
        positive("--think-micros", thinkMicros);
        if (processes < 2) {
            throw new ParameterException(spec.commandLine(), "--processes must be 2 or more: one of them is killed");
        }
        if (stock < 0) {
            throw new ParameterException(spec.commandLine(), "--stock must be positive, not " + stock);
        }
    }

    private void positive(String option, int value) {
        if (value < 1) {
            throw new ParameterException(spec.commandLine(), option + " must be positive, not " + value);
        }
    }

    private int sell(DemoFolder folder) throws IOException, SQLException, InterruptedException {
        int count = stock > 0 ? stock : STOCK_PER_SECOND * seconds;
        String store = backend != null ? backend : folder.database("locks");
        String name = "flash-sale/" + UUID.randomUUID();
        Path log = Files.createFile(folder.path().resolve("workers.log"));
        Progress progress = new Progress(out, Boolean.getBoolean("holdfast.demo.terminal"));

        out.printf("Flash sale: %d to sell, %d JVMs with %d sellers each.%n", count, processes, threads);
        out.println("Each sale reads the stock from a database file, thinks for " + thinkMicros / 1_000.0
                + " ms and writes it back less one.");
        // Asks for an unusable store before anything is sold, and keeps the file of locks open in this process.
        try (LockClient client = LockClient.connect(store, LockClientOptions.defaults())) {
            client.lock(name).acquire(Duration.ofSeconds(10)).close();

            progress.begin("1. Without a lock");
            SaleResult without =
                    sale(folder, "unlocked", null, name, count, log, progress).run(false);
            progress.begin("2. With a lock on " + StoreName.of(backend) + ", lease " + leaseMillis / 1_000.0 + " s");
            SaleResult with =
                    sale(folder, "locked", store, name, count, log, progress).run(true);
            new SaleTable(out).print(without, with);
            return verdict(without, with);
        }
    }

    private Sale sale(
            DemoFolder folder,
            String shop,
            @Nullable String store,
            String name,
            int count,
            Path log,
            Progress progress) {
        SaleConfig config = new SaleConfig(folder.database(shop), store, name, threads, thinkMicros, leaseMillis);
        return new Sale(config, processes, count, Duration.ofSeconds(seconds), log, progress);
    }

    private int verdict(SaleResult without, SaleResult with) {
        boolean good = true;
        if (without.oversold() == 0) {
            out.println("The sale without a lock did not oversell: too little contention to show anything.");
            good = false;
        }
        if (with.takeOverNanos().isEmpty()) {
            out.println("Nobody took over after the kill.");
            good = false;
        }
        out.println("oversold without lock: " + without.oversold());
        out.println("oversold with lock: " + with.oversold());
        return good && with.oversold() == 0 ? 0 : 1;
    }
}
