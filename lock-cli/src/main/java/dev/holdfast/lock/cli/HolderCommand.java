package dev.holdfast.lock.cli;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast holder}: prints the holders of a lock: a single one, or all with a share or permits. */
@Command(
        name = "holder",
        mixinStandardHelpOptions = true,
        description =
                "Prints the holders of the lock NAME, one line each. The answer may already be stale; do not use it to"
                        + " decide whether to write.",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:The lock is held.",
            "1:The lock is free.",
            "64:The options are wrong.",
            "69:The store cannot be reached.",
            "78:The store refuses us, or its address is wrong."
        })
final class HolderCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Mixin
    private StoreOptions store = new StoreOptions();

    @Option(names = "--json", description = "Print one JSON object.")
    private boolean json;

    @Parameters(index = "0", paramLabel = "NAME", description = "The lock's name.")
    private String name = "";

    @SuppressWarnings("NullAway.Init")
    HolderCommand() {}

    @Override
    public Integer call() {
        store.applyVerbosity();
        try (LockClient client = store.connect()) {
            List<HolderInfo> holders = holders(client);
            PrintWriter out = spec.commandLine().getOut();
            if (json) {
                out.println(HolderText.json(name, holders));
            } else if (holders.isEmpty()) {
                out.println("free");
            } else {
                holders.forEach(holder -> out.println(HolderText.line(holder)));
            }
            out.flush();
            return holders.isEmpty() ? ExitStatus.FREE : ExitStatus.OK;
        }
    }

    private List<HolderInfo> holders(LockClient client) {
        try {
            return client.holders(name);
        } catch (IllegalArgumentException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }
}
