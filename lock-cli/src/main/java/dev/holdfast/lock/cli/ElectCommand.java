package dev.holdfast.lock.cli;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.cli.process.CommandFailedException;
import dev.holdfast.lock.cli.process.PosixSignal;
import dev.holdfast.lock.cli.process.Signals;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code holdfast elect}: a program that is kept running on one node. */
@Command(
        name = "elect",
        mixinStandardHelpOptions = true,
        customSynopsis = {
            "holdfast elect [--store URI] [--lease DUR] [--max-hold DUR] [--grace DUR]",
            "               [--on-loss term|ignore] [--back-off DUR] [--who TEXT] [-v] NAME -- COMMAND..."
        },
        description = {
            "Keeps COMMAND running on one of the nodes that give this command: the one that holds the lock NAME.",
            "When COMMAND ends, or its lease is lost, the lock is released, and this node stands again after a pause. TERM and"
                    + " INT end COMMAND and this command; HUP goes to COMMAND only."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "n:128 and the number of the signal that ended this command.",
            "64:The options are wrong.",
            "69:The store could not be reached at the start.",
            "78:The store refuses us, or its address is wrong.",
            "126:COMMAND cannot be executed.",
            "127:COMMAND is not found."
        })
final class ElectCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Mixin
    private StoreOptions store = new StoreOptions();

    @Mixin
    private LeaseOptions lease = new LeaseOptions();

    @Option(
            names = "--back-off",
            paramLabel = "DUR",
            defaultValue = "1s",
            description =
                    "The pause before this node stands again; doubled each time, up to 32 times, and short again after"
                            + " COMMAND ran for longer than the last pause. Default: ${DEFAULT-VALUE}.")
    private Duration backOff = Duration.ofSeconds(1);

    @Parameters(index = "0", paramLabel = "NAME", description = "The lock's name, such as services/importer.")
    private String name = "";

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "COMMAND", description = "The program and its arguments.")
    private List<String> command = List.of();

    @SuppressWarnings("NullAway.Init")
    ElectCommand() {}

    @Override
    public Integer call() throws Exception {
        store.applyVerbosity();
        CommandArguments.check(spec.commandLine(), command);
        lease.grace();
        Signals signals = Signals.receive(false);
        try (Messages messages = new Messages(spec.commandLine());
                LockClient client = store.connect(lease.lockOptions())) {
            LockRunner runner = new LockRunner(lease, signals, messages);
            DistributedLock lock = runner.lock(client, name);
            BackOff pauses = new BackOff(backOff);
            while (true) {
                Duration ran = standOnce(client, lock, runner, messages);
                if (signals.asked().isPresent()) {
                    return signals.asked().get().status();
                }
                long pause = pauses.next(ran).toMillis();
                new CountDownLatch(1).await(pause, TimeUnit.MILLISECONDS); // a signal interrupts it
            }
        } catch (CommandFailedException e) {
            Failures.say(spec.commandLine(), String.valueOf(e.getMessage()));
            return e.status();
        } catch (InterruptedException e) {
            return signals.asked().map(PosixSignal::status).orElse(ExitStatus.SOFTWARE);
        } catch (LockException e) { // connecting reports an interrupt this way
            return signals.asked().map(PosixSignal::status).orElseThrow(() -> e);
        }
    }

    /** Waits to be elected and runs the command. Returns how long it ran; zero if the store failed meanwhile. */
    Duration standOnce(LockClient client, DistributedLock lock, LockRunner runner, Consumer<String> messages)
            throws InterruptedException, CommandFailedException {
        Lease elected;
        try (Progress progress = Progress.start(client, name, spec.commandLine().getErr())) {
            elected = lock.acquire();
        } catch (LockUnavailableException | LeaseLostException e) {
            messages.accept(e.getMessage() + "; trying again");
            return Duration.ZERO;
        }
        long begun = System.nanoTime();
        messages.accept("elected, token " + elected.token());
        int status = runner.run(elected, command);
        messages.accept("the command ended with " + status);
        return Duration.ofNanos(System.nanoTime() - begun);
    }
}
