package dev.holdfast.lock.cli;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockTimeoutException;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/** Prints a failure in one line, and maps it to an exit status. */
final class Failures implements IExecutionExceptionHandler {

    @Override
    public int handleExecutionException(Exception failure, CommandLine command, ParseResult parsed) {
        say(command, String.valueOf(failure.getMessage()));
        return status(failure);
    }

    /** Prints a line on standard error in the usual format of commands. */
    static void say(CommandLine command, String message) {
        command.getErr().println("holdfast: " + message);
        command.getErr().flush();
    }

    static int status(Throwable failure) {
        if (failure instanceof UsageException) {
            return ExitStatus.USAGE;
        } else if (failure instanceof LockConfigurationException || failure instanceof IllegalArgumentException) {
            return ExitStatus.CONFIGURATION;
        } else if (failure instanceof LeaseLostException) {
            return ExitStatus.LOST;
        } else if (failure instanceof LockTimeoutException) {
            return ExitStatus.BUSY;
        } else if (failure instanceof LockException) {
            return ExitStatus.UNAVAILABLE;
        }
        return ExitStatus.SOFTWARE;
    }
}
