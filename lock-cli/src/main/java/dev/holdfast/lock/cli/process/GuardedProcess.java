package dev.holdfast.lock.cli.process;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A program that runs with this process's standard input, output and error, in its process group: it can read from the
 * terminal, and a {@code ^C} or {@code ^Z} there reaches it without our help. Thread-safe.
 */
public final class GuardedProcess implements Guarded, AutoCloseable {
    /** The variable that marks everything that was started under one hold. */
    static final String MARK = "HOLDFAST_RUN";

    /** What the launcher found in LC_ALL, if it had to change that. */
    private static final String LOCALE_BEFORE = "HOLDFAST_LC_ALL";

    /** Set by the launcher if it has set {@link #SUSPEND_SIGNAL}. */
    private static final String SUSPEND_SIGNAL_IS_OURS = "HOLDFAST_SR";

    /** Moves the signal that Java needs for itself away from USR2, which can be forwarded then. */
    private static final String SUSPEND_SIGNAL = "_JAVA_SR_SIGNUM";

    private final long startedNanos = System.nanoTime();
    private final CompletableFuture<Integer> exit;
    private final ProcessFamily family;
    private final @Nullable Warden warden;

    private GuardedProcess(Process process, String mark, @Nullable Warden warden) {
        exit = process.onExit().thenApply(Process::exitValue);
        family = new ProcessFamily(process.toHandle(), mark);
        this.warden = warden;
    }

    /**
     * Starts a program. Call it on a thread that lives until the program has ended: Linux sends the signal that
     * {@code setpriv --pdeathsig} asks for when the thread ends that started the process.
     *
     * @param command the program and its arguments, not empty
     * @param variables added to the environment
     * @param removed variables that it does not get
     * @return the running program
     * @throws CommandFailedException if it cannot be started
     */
    public static GuardedProcess start(List<String> command, Map<String, String> variables, Set<String> removed)
            throws CommandFailedException {
        String id = UUID.randomUUID().toString();
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().keySet().removeAll(removed);
        builder.environment().putAll(variables);
        restoreLocale(builder.environment());
        if (builder.environment().remove(SUSPEND_SIGNAL_IS_OURS) != null) {
            builder.environment().remove(SUSPEND_SIGNAL);
        }
        builder.environment().merge(MARK, id, (outer, own) -> outer + "," + own); // under another hold: both
        Warden warden = warden(id);
        try {
            return new GuardedProcess(builder.start(), id, warden);
        } catch (IOException e) {
            if (warden != null) {
                warden.close();
            }
            throw new CommandFailedException(command.get(0), e);
        }
    }

    /** Null on a system without a shell: there, every signal is forwarded, and the command may survive a SIGKILL of this process. */
    private static @Nullable Warden warden(String id) {
        try {
            return Warden.start(id);
        } catch (IOException e) {
            return null;
        }
    }

    /** The launcher sets it for Java alone. */
    private static void restoreLocale(Map<String, String> environment) {
        String before = environment.remove(LOCALE_BEFORE);
        if (before != null && before.isEmpty()) {
            environment.remove("LC_ALL");
        } else if (before != null) {
            environment.put("LC_ALL", before);
        }
    }

    @Override
    public CompletableFuture<Integer> exit() {
        return exit.copy();
    }

    @Override
    public boolean anyAlive() {
        return !family.members().isEmpty();
    }

    @Override
    public void rehearse() {
        family.rehearse();
    }

    @Override
    public void signal(PosixSignal signal) {
        family.signal(signal);
    }

    /**
     * Whether a signal that this process has received went to its whole group, so that the program has it already. In doubt it has not:
     * a signal that came while the program was being started may have come before there was one.
     *
     * @param signal which
     * @param cameNanos when, by {@link System#nanoTime()}
     */
    boolean hasReceived(PosixSignal signal, long cameNanos) {
        if (cameNanos - startedNanos < 0) {
            return false;
        }
        return warden != null ? warden.takeReport(signal) : signal == PosixSignal.INT && Signals.isForeground();
    }

    /** Ends the watch over this process's own death. Call it when the program and what it started are no concern any more. */
    @Override
    public void close() {
        if (warden != null) {
            warden.close();
        }
    }
}
