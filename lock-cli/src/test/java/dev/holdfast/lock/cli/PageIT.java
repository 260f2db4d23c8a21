package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The examples of docs/cli.md, with a command that only prints, on a store of their own. */
class PageIT {
    private static final Pattern COMMAND = Pattern.compile(
            "(?:^|[ =/])holdfast ((?:run|elect|holder|ls|doctor) [^\\[\\n]*?)(?: *#.*)?$", Pattern.MULTILINE);

    @TempDir
    private Path folder;

    private static String page() throws Exception {
        return Files.readString(Path.of("../docs/cli.md"));
    }

    /** The text between fences. */
    private static List<String> blocks() throws Exception {
        return Pattern.compile("^```[a-z]*\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(page())
                .results()
                .map(result -> result.group(1))
                .toList();
    }

    private static List<List<String>> commands() throws Exception {
        List<List<String>> commands = new ArrayList<>();
        for (String block : blocks()) {
            COMMAND.matcher(block)
                    .results()
                    .forEach(
                            found -> commands.add(List.of(found.group(1).strip().split(" +"))));
            Matcher list = Pattern.compile("command: \\[holdfast, (.*)]").matcher(block);
            while (list.find()) {
                commands.add(List.of(list.group(1).split(", ")));
            }
        }
        return commands;
    }

    @Test
    void everyExample_hasOptionsThatExist() throws Exception {
        assertThat(commands()).hasSizeGreaterThan(5);
        for (List<String> words : commands()) {
            CommandLine.ParseResult parsed = Holdfast.commandLine().parseArgs(words.toArray(String[]::new));
            assertThat(parsed.subcommand()).as(String.join(" ", words)).isNotNull();
        }
    }

    @Test
    void examplesOfRun_runTheirCommand() throws Exception {
        String store = "jdbc:h2:file:" + folder.resolve("locks") + "?holdfast.createTable=true";
        Path file = Files.writeString(folder.resolve("store"), store + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        List<List<String>> runs =
                commands().stream().filter(words -> words.get(0).equals("run")).toList();
        assertThat(runs).as("cron, unit, systemd-run, Kubernetes").hasSizeGreaterThanOrEqualTo(4);
        for (List<String> words : runs) {
            List<String> args = new ArrayList<>(words.subList(0, words.indexOf("--") + 1));
            args.replaceAll(
                    word -> word.equals("/etc/holdfast/store") ? file.toString() : word.equals("5m") ? "1s" : word);
            args.addAll(List.of("echo", "done"));
            try (CliRun run = CliRun.start(store, args.toArray(String[]::new))) {
                assertThat(run.status())
                        .as(String.join(" ", args) + ": " + run.err())
                        .isZero();
                assertThat(run.out() + run.err()).isEqualTo("done\n");
            }
        }
    }

    /** systemd and Kubernetes kill what is left after their own time: ours has to pass before it. */
    @Test
    void unitAndPod_leaveTimeToStop() throws Exception {
        String unit = blocks().stream()
                .filter(block -> block.contains("[Service]"))
                .findFirst()
                .orElseThrow();
        assertThat(unit).contains("KillMode=mixed\n").doesNotContain("--stop-time");
        Duration byDefault = Duration.parse("PT"
                + Holdfast.commandLine()
                        .getSubcommands()
                        .get("run")
                        .getCommandSpec()
                        .findOption("--stop-time")
                        .defaultValue());
        assertThat(seconds(unit, "TimeoutStopSec=(\\d+)")).isGreaterThan(byDefault.toSeconds());
        String pod = blocks().stream()
                .filter(block -> block.contains("kind: Job"))
                .findFirst()
                .orElseThrow();
        assertThat(seconds(pod, "terminationGracePeriodSeconds: (\\d+)"))
                .isGreaterThan(seconds(pod, "--stop-time, (\\d+)s"));
    }

    private static long seconds(String text, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        assertThat(matcher.find()).as(pattern).isTrue();
        return Long.parseLong(matcher.group(1));
    }

    @Test
    void everyExitStatus_isOnThePage() throws Exception {
        String table = page();
        for (int status : Arrays.asList(
                ExitStatus.USAGE,
                ExitStatus.UNAVAILABLE,
                71,
                ExitStatus.WRITE_ERROR,
                ExitStatus.BUSY,
                ExitStatus.CONFIGURATION,
                ExitStatus.LOST)) {
            assertThat(table).contains("\n| " + status + " | ");
        }
        assertThat(Files.readString(Path.of("src/main/bin/holdfast"))).contains("exit 71");
    }
}
