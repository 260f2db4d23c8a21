package dev.holdfast.lock.cli.process;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * A program that runs with this process's standard input, output and error, in its process group: it can read from the
 * terminal, and a {@code ^C} or {@code ^Z} there reaches it without our help. Thread-safe.
 */
public final class GuardedProcess implements Guarded {
    /** The variable that marks everything that was started under one hold. */
    static final String MARK = "HOLDFAST_RUN";

    /** What the launcher found in LC_ALL, if it had to change that. */
    private static final String LOCALE_BEFORE = "HOLDFAST_LC_ALL";

    private final CompletableFuture<Integer> exit;
    private final ProcessFamily family;

    private GuardedProcess(Process process, String mark) {
        exit = process.onExit().thenApply(Process::exitValue);
        family = new ProcessFamily(process.toHandle(), mark);
    }

    /**
     * Starts a program. Call it on a thread that lives until the program has ended: Linux sends the signal that
     * {@code setpriv --pdeathsig} asks for when the thread ends that started the process.
     *
     * @param command the program and its arguments, not empty
     * @param variables added to the environment
     * @return the running program
     * @throws CommandFailedException if it cannot be started
     */
    public static GuardedProcess start(List<String> command, Map<String, String> variables)
            throws CommandFailedException {
        String id = UUID.randomUUID().toString();
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().putAll(variables);
        restoreLocale(builder.environment());
        builder.environment().merge(MARK, id, (outer, own) -> outer + "," + own); // under another hold: both
        try {
            return new GuardedProcess(builder.start(), id);
        } catch (IOException e) {
            throw new CommandFailedException(command.get(0), e);
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
}
