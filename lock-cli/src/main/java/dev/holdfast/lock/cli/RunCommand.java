package dev.holdfast.lock.cli;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.cli.process.CommandFailedException;
import dev.holdfast.lock.cli.process.PosixSignal;
import dev.holdfast.lock.cli.process.Signals;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast run}: a program under a lock. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        customSynopsis = {
            "holdfast run [--store URI] [-n | -w DUR] [-q] [-E CODE] [--lease DUR] [--min-hold DUR]",
            "             [--max-hold DUR] [--grace DUR] [--stop-time DUR] [--on-loss term|ignore]",
            "             [--keep-store] [--who TEXT] [-v] NAME -- COMMAND..."
        },
        description = {
            "Waits for the lock NAME, runs COMMAND, and releases the lock when COMMAND has ended.",
            "Signals are forwarded to COMMAND and all that it started. COMMAND finds the lock's name in HOLDFAST_LOCK and"
                    + " the fencing token in HOLDFAST_TOKEN."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "n:That of COMMAND; 128 and the signal's number if a signal ended it, or ended the wait.",
            "64:The options are wrong.",
            "69:The store cannot be reached.",
            "75:The lock is held by another client (-n, -w); -E chooses another status.",
            "78:The store refuses us, or its address is wrong.",
            "79:The lease was lost, and COMMAND was ended.",
            "126:COMMAND cannot be executed.",
            "127:COMMAND is not found."
        })
final class RunCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Mixin
    private StoreOptions store = new StoreOptions();

    @Mixin
    private LeaseOptions lease = new LeaseOptions();

    @ArgGroup
    private @Nullable Patience patience;

    @Option(
            names = {"-E", "--conflict-exit-code"},
            paramLabel = "CODE",
            description =
                    "The exit status when another holder has the lock. With it, nothing is printed then. Default: 75.")
    private @Nullable Integer busyStatus;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing when another holder has the lock.")
    private boolean quiet;

    @Parameters(index = "0", paramLabel = "NAME", description = "The lock's name, such as jobs/nightly.")
    private String name = "";

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "COMMAND", description = "The program and its arguments.")
    private List<String> command = List.of();

    @SuppressWarnings("NullAway.Init")
    RunCommand() {}

    /** How long to wait. */
    static final class Patience {
        @Option(
                names = {"-n", "--nonblock"},
                required = true,
                description = "Do not wait: end with 75 if another client holds the lock.")
        private boolean none;

        @Option(
                names = {"-w", "--wait"},
                required = true,
                paramLabel = "DUR",
                description = "Wait at most this long, then end with 75. Default: no limit.")
        private @Nullable Duration time;

        Duration time() {
            return none || time == null ? Duration.ZERO : time;
        }
    }

    @Override
    public Integer call() throws Exception {
        store.applyVerbosity();
        CommandArguments.check(spec.commandLine(), command);
        if (busyStatus != null && (busyStatus < 0 || busyStatus > 255)) {
            throw new UsageException("-E must be from 0 to 255");
        }
        lease.grace();
        Signals signals = Signals.receive(true);
        try (Messages messages = new Messages(spec.commandLine());
                LockClient client = store.connect(lease.lockOptions())) {
            LockRunner runner = new LockRunner(lease, signals, messages);
            DistributedLock lock = runner.lock(client, name);
            Lease acquired;
            try (Progress progress =
                    Progress.start(client, name, spec.commandLine().getErr())) {
                acquired = acquire(lock);
            } catch (LockTimeoutException e) {
                if (!quiet && busyStatus == null) {
                    messages.accept(String.valueOf(e.getMessage()));
                }
                return busyStatus == null ? ExitStatus.BUSY : busyStatus;
            }
            return run(runner, acquired, messages);
        } catch (InterruptedException e) {
            return signals.asked().map(PosixSignal::status).orElse(ExitStatus.SOFTWARE);
        } catch (LockException e) { // connecting reports an interrupt this way
            return signals.asked().map(PosixSignal::status).orElseThrow(() -> e);
        }
    }

    private int run(LockRunner runner, Lease acquired, Messages messages) throws InterruptedException {
        try {
            return runner.run(acquired, command);
        } catch (CommandFailedException e) {
            messages.accept(String.valueOf(e.getMessage()));
            return e.status();
        }
    }

    private Lease acquire(DistributedLock lock) throws InterruptedException {
        return patience == null ? lock.acquire() : lock.acquire(patience.time());
    }
}
