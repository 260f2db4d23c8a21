package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.StoreFinding;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast doctor}: whether a store is fit for locks. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Checks that the store can be reached, has the schema and grants the rights. Reports its version, its clock, how long a"
                    + " lock takes, and the settings that decide what a crash or a failover does to locks.",
            "Each warning and each problem comes with its fix. Briefly acquires the lock holdfast/doctor."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:No problems found.",
            "1:Warnings found; locks work.",
            "64:The options are wrong.",
            "69:The store cannot be reached.",
            "78:Locks do not work here until the problem is fixed."
        })
final class DoctorCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Mixin
    private StoreOptions store = new StoreOptions();

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "URI",
            description = "The store's address. Default: --store, or the variable HOLDFAST_STORE.")
    private @org.jspecify.annotations.Nullable String uri;

    @Option(names = "--json", description = "Print one JSON object a finding, each on one line.")
    private boolean json;

    @SuppressWarnings("NullAway.Init")
    DoctorCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        store.applyVerbosity();
        long begunNanos = System.nanoTime();
        try (LockClient client = uri == null ? store.connect() : store.connect(uri)) {
            print(StoreFinding.ok(
                    "the store answers; connecting took " + Checkup.millis(System.nanoTime() - begunNanos)));
            List<StoreFinding> findings = new Checkup(client).run();
            findings.forEach(this::print);
            return worst(findings);
        } catch (LockConfigurationException e) {
            print(problem(e));
            return ExitStatus.CONFIGURATION;
        } catch (LockUnavailableException e) {
            print(problem(e));
            return ExitStatus.UNAVAILABLE;
        }
    }

    private static StoreFinding problem(RuntimeException failure) {
        String text = String.valueOf(failure.getMessage());
        int remedy = text.lastIndexOf("; run: ");
        return remedy < 0
                ? new StoreFinding(StoreFinding.Grade.PROBLEM, text, "")
                : new StoreFinding(StoreFinding.Grade.PROBLEM, text.substring(0, remedy), text.substring(remedy + 7));
    }

    private static int worst(List<StoreFinding> findings) {
        if (findings.stream().anyMatch(finding -> finding.grade() == StoreFinding.Grade.PROBLEM)) {
            return ExitStatus.CONFIGURATION;
        }
        return findings.stream().anyMatch(finding -> finding.grade() == StoreFinding.Grade.WARNING)
                ? ExitStatus.FINDINGS
                : ExitStatus.OK;
    }

    private void print(StoreFinding finding) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println("{\"grade\":" + HolderText.quoted(finding.grade().name()) + ",\"observation\":"
                    + HolderText.quoted(finding.observation()) + ",\"remedy\":" + HolderText.quoted(finding.remedy())
                    + "}");
        } else {
            out.printf("%-8s %s%n", finding.grade().name().toLowerCase(java.util.Locale.ROOT), finding.observation());
            if (!finding.remedy().isEmpty()) {
                out.println("         fix: " + finding.remedy());
            }
        }
        out.flush();
    }
}
