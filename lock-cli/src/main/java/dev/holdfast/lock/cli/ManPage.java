package dev.holdfast.lock.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine;

/** Writes the manual page, from the same help that the command prints; called by the build. */
final class ManPage {
    private static final int COLUMNS = 78;

    private ManPage() {}

    /**
     * Writes the page.
     *
     * @param args the file
     * @throws IOException if it cannot be written
     */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.writeString(file, text());
    }

    static String text() {
        CommandLine holdfast = Holdfast.commandLine();
        StringBuilder page = new StringBuilder(".TH HOLDFAST 1 \"\" \"holdfast " + Version.number() + "\"\n");
        page.append(".SH NAME\nholdfast \\- runs programs under distributed locks\n");
        section(page, "SYNOPSIS AND OPTIONS", holdfast);
        holdfast.getSubcommands().forEach((name, command) -> {
            if (!name.equals("help")) {
                section(page, "HOLDFAST " + name.toUpperCase(java.util.Locale.ROOT), command);
            }
        });
        return page.toString();
    }

    /** As it is printed, line by line; what troff would take for its own is escaped. */
    private static void section(StringBuilder page, String title, CommandLine command) {
        page.append(".SH ").append(title).append("\n.nf\n");
        String help = command.setUsageHelpWidth(COLUMNS).getUsageMessage(CommandLine.Help.Ansi.OFF);
        help.lines()
                .map(line -> line.replace("\\", "\\e").replace("-", "\\-"))
                .map(line -> line.startsWith(".") || line.startsWith("'") ? "\\&" + line : line)
                .forEach(line -> page.append(line).append('\n'));
        page.append(".fi\n");
    }
}
