package dev.holdfast.lock.cli;

import java.time.Duration;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code holdfast}. */
@Command(
        name = "holdfast",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        description = "Runs programs under distributed locks, and shows who holds them.",
        subcommands = {
            RunCommand.class,
            ElectCommand.class,
            HolderCommand.class,
            ListCommand.class,
            DoctorCommand.class,
            HelpCommand.class
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:Success; of 'run' and 'elect', whatever the command returned.",
            "64:The options are wrong.",
            "69:The store cannot be reached.",
            "71:Java cannot start.",
            "78:The store refuses us, or its address is wrong: 'holdfast doctor' prints the fix."
        },
        footerHeading = "%nEnvironment:%n",
        footer = {
            "  HOLDFAST_STORE   The store's address, if there is no --store.",
            "  JAVA_HOME        The Java to use, 17 or newer.",
            "  JAVA_OPTS        More options for it, such as -Xmx256m.",
            "  HOLDFAST_ARCHIVE The folder of the archive of loaded classes; 'off' for none."
        })
public final class Holdfast implements Runnable {

    @Spec
    private CommandSpec spec;

    /** Made by picocli. */
    @SuppressWarnings("NullAway.Init")
    public Holdfast() {}

    /**
     * Runs the command and ends this process with its exit status.
     *
     * @param args as in {@code holdfast --help}
     */
    public static void main(String[] args) {
        System.setProperty("java.util.logging.config.class", QuietLogging.class.getName());
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        CommandLine line = commandLine();
        int status = line.execute(args);
        if (System.out.checkError()) { // a reader that has gone, or a full disk
            Failures.say(line, "cannot write to standard output");
            status = ExitStatus.WRITE_ERROR;
        }
        System.exit(status);
    }

    /**
     * Makes the command with its settings.
     *
     * @return a command that prints to this process's standard output and error
     */
    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new Holdfast())
                .registerConverter(Duration.class, new DurationText())
                .setExpandAtFiles(false)
                .setExecutionExceptionHandler(new Failures());
        usageStatus(line);
        return line;
    }

    private static void usageStatus(CommandLine line) {
        line.getCommandSpec().exitCodeOnInvalidInput(ExitStatus.USAGE);
        line.getSubcommands().values().forEach(Holdfast::usageStatus);
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Say what to do: run, elect, holder, ls or doctor");
    }
}
