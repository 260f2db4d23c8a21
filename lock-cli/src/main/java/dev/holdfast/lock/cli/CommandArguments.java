package dev.holdfast.lock.cli;

import java.util.List;
import picocli.CommandLine;

/** Checks the arguments of the program, which are passed on unchanged. */
final class CommandArguments {
    private static final String DASHES = "--";
    private static final char UNREADABLE = '\uFFFD';

    private CommandArguments() {}

    /**
     * Refuses a command that does not follow {@code --}, since its options would be taken for ours, and arguments that
     * Java could not decode, since the command would get others.
     *
     * @throws UsageException if the command is refused
     */
    static void check(CommandLine line, List<String> command) {
        List<String> all = line.getParseResult().originalArgs();
        int dashes = all.indexOf(DASHES);
        if (dashes < 0 || command.size() > all.size() - dashes - 1) {
            throw new UsageException(
                    "put -- between NAME and COMMAND; the command's own options would be taken for ours");
        }
        if (all.stream().anyMatch(argument -> argument.indexOf(UNREADABLE) >= 0)) {
            throw new UsageException("an argument is not UTF-8, so it cannot be passed to the command unchanged");
        }
    }
}
