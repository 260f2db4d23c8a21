package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListing;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast ls}: lists locks with their holders and waiters. */
@Command(
        name = "ls",
        mixinStandardHelpOptions = true,
        description =
                "Lists the locks that are held or waited for, by name: one page. The answer may already be stale.",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:The list was printed, possibly empty.",
            "64:The options are wrong.",
            "69:The store cannot be reached.",
            "78:The store cannot list its locks, refuses us, or its address is wrong."
        })
final class ListCommand implements Callable<Integer> {
    private static final String CLEAR_SCREEN = "\u001b[H\u001b[2J";

    @Spec
    private CommandSpec spec;

    @Mixin
    private StoreOptions store = new StoreOptions();

    @Option(names = "--json", description = "Print one JSON object a page, on one line.")
    private boolean json;

    @Option(names = "--watch", description = "Print it again every --interval, until this command is ended.")
    private boolean watch;

    @Option(
            names = "--interval",
            paramLabel = "DUR",
            defaultValue = "2s",
            description = "The pause of --watch. Default: ${DEFAULT-VALUE}.")
    private Duration interval = Duration.ofSeconds(2);

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "100",
            description = "The most locks to list, up to 1000. Default: ${DEFAULT-VALUE}.")
    private int limit = 100;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "PREFIX",
            defaultValue = "",
            description = "List names that begin with it.")
    private String prefix = "";

    @SuppressWarnings("NullAway.Init")
    ListCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        store.applyVerbosity();
        if (limit < 1 || limit > 1000) {
            throw new UsageException("--limit must be from 1 to 1000");
        }
        if (interval.toMillis() < 100) {
            throw new UsageException("--interval must be at least 100ms, for the store's sake");
        }
        try (LockClient client = store.connect()) {
            print(client.list(prefix, limit));
            while (watch && !System.out.checkError()) { // its reader may have gone
                new CountDownLatch(1).await(interval.toMillis(), TimeUnit.MILLISECONDS);
                print(client.list(prefix, limit));
            }
            return ExitStatus.OK;
        }
    }

    private void print(LockListing page) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(ListingText.json(page));
        } else {
            if (watch && Boolean.getBoolean("holdfast.terminal.out")) {
                out.print(CLEAR_SCREEN);
            }
            ListingText.lines(page).forEach(out::println);
        }
        out.flush();
    }
}
