package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The published zip, unpacked. The build runs this after packaging. */
class ZipIT {
    private static RedisServer redis;

    @TempDir
    private static Path folder;

    private static Path home;

    @BeforeAll
    static void unpack() throws Exception {
        redis = RedisServer.start();
        home = folder.resolve("holdfast");
        try (DirectoryStream<Path> zips = Files.newDirectoryStream(Path.of("target"), "*-bin.zip");
                FileSystem zip =
                        FileSystems.newFileSystem(zips.iterator().next(), Map.of("enablePosixFileAttributes", true))) {
            Path top;
            try (Stream<Path> tops = Files.list(zip.getPath("/"))) {
                top = tops.findFirst().orElseThrow();
            }
            try (Stream<Path> files = Files.walk(top)) {
                for (Path file : files.toList()) {
                    Path target = home.resolve(top.relativize(file).toString());
                    Files.createDirectories(target.getParent());
                    Files.copy(file, target, StandardCopyOption.COPY_ATTRIBUTES);
                    Files.setPosixFilePermissions(target, Files.getPosixFilePermissions(file));
                }
            }
        }
        try (CliRun first = start(List.of(), "--version")) {
            assertThat(first.process().waitFor(5, TimeUnit.MINUTES))
                    .as("the archive is created")
                    .isTrue();
            assertThat(first.status()).as(first.err()).isZero();
            assertThat(first.out()).matches("holdfast [0-9]+[.].+\n");
        }
        try (Stream<Path> archives = Files.list(archive())) {
            assertThat(archives.filter(file -> file.toFile().length() > 1_000_000))
                    .hasSize(1);
        }
    }

    @AfterAll
    static void stopServer() {
        redis.close();
    }

    private static Path archive() {
        return folder.resolve("archive of classes");
    }

    /** Runs the launcher by {@code env}, so that it can set and unset variables. */
    private static CliRun start(List<String> env, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of("env", "HOLDFAST_ARCHIVE=" + archive()));
        command.add("JAVA_HOME=" + System.getProperty("java.home"));
        command.add("env"); // a second one, which may unset
        command.addAll(env);
        command.add(home.resolve("bin/holdfast").toString());
        command.addAll(List.of(args));
        return CliRun.start("redis://" + redis.host() + ":" + redis.port(), command);
    }

    /** Its standard output; it says nothing else, and ends with that status. */
    private static String run(int status, List<String> env, String... args) throws Exception {
        try (CliRun run = start(env, args)) {
            assertThat(run.status()).as(run.out() + run.err()).isEqualTo(status);
            assertThat(run.err()).isEmpty();
            return run.out();
        }
    }

    @Test
    void manualPage_completion_andLicence_areInIt() throws Exception {
        assertThat(home.resolve("share/man/man1/holdfast.1"))
                .content()
                .startsWith(".TH HOLDFAST 1")
                .contains("HOLDFAST DOCTOR")
                .contains("memcached:");
        Path completion = home.resolve("share/bash-completion/completions/holdfast");
        assertThat(home.resolve("LICENSE")).isNotEmptyFile();
        String script =
                ". \"$1\"; COMP_WORDS=(holdfast el); COMP_CWORD=1; _complete_holdfast; echo \"${COMPREPLY[@]}\"";
        try (CliRun bash = CliRun.start("", List.of("bash", "-c", script, "bash", completion.toString()))) {
            assertThat(bash.status()).as(bash.err()).isZero();
            assertThat(bash.out()).contains("elect");
        }
    }

    @Test
    void everyCommandWorks_byALinkToIt_withTheJavaOnThePath() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("link"), home.resolve("bin/holdfast"));
        String path = "PATH=" + System.getProperty("java.home") + "/bin:" + System.getenv("PATH");
        String script = "shift; exec \"$0\" \"$@\"";
        List<String> env = List.of("-u", "JAVA_HOME", path, "sh", "-c", script, link.toString());
        assertThat(run(3, env, "run", "one", "--", "sh", "-c", "exit 3")).isEmpty();
        assertThat(run(1, env, "holder", "one")).isEqualTo("free\n");
        assertThat(run(0, env, "ls", "none/")).isEmpty();
        assertThat(run(
                        127,
                        List.of("sh", "-c", "exec 2>/dev/null; " + script, link.toString()),
                        "elect",
                        "one",
                        "--",
                        "/none"))
                .isEmpty();
        assertThat(run(1, env, "doctor")).contains("a lock and its release take");
    }

    @Test
    void start_takesItsClassesFromTheArchive() throws Exception {
        Path log = folder.resolve("classes.log");
        run(0, List.of("JAVA_OPTS=-Xlog:class+load:file=" + log), "run", "start", "--", "true");
        List<String> loaded = Files.readAllLines(log);
        long archived = loaded.stream()
                .filter(line -> line.contains("shared objects file"))
                .count();
        assertThat(archived).isGreaterThan(3000);
        int percent = Runtime.version().feature() == 17 ? 92 : 80; // lambdas of a connected driver are not archived
        assertThat(archived * 100 / loaded.size())
                .as("%d of %d classes; see lock-cli/src/main/assembly/ClassList.java", archived, loaded.size())
                .isGreaterThanOrEqualTo(percent);
        assertThat(loaded).noneMatch(line -> line.contains("picocli") && line.contains(".jar"));
    }

    @Test
    void withoutAnArchive_orAPlaceForIt_itWorks() throws Exception {
        Path file = Files.createFile(folder.resolve("no folder"));
        assertThat(run(0, List.of("HOLDFAST_ARCHIVE=" + file + "/x"), "run", "a", "--", "echo", "done"))
                .isEqualTo("done\n");
        assertThat(run(0, List.of("-u", "HOME", "HOLDFAST_ARCHIVE=off"), "run", "a", "--", "echo", "done"))
                .isEqualTo("done\n");
    }

    @Test
    void folderWithABlankInItsName_itWorks() throws Exception {
        Path before = home;
        home = Files.move(home, folder.resolve("with blank"));
        try {
            assertThat(run(0, List.of("HOLDFAST_ARCHIVE=off"), "run", "a", "--", "echo", "done"))
                    .isEqualTo("done\n");
        } finally {
            home = Files.move(home, before);
        }
    }

    @Test
    void cronsLocale_namesAndArgumentsArriveAsWritten_andTheCommandHasItsOwnLocale() throws Exception {
        String script = "printf '%s %s %s.' \"$1\" \"$HOLDFAST_LOCK\" \"${LC_ALL-none}\"";
        List<String> cron = List.of("-u", "LC_ALL", "-u", "LC_CTYPE", "LANG=C");
        String[] args = {"run", "gr\u00f6\u00dfe", "--", "sh", "-c", script, "sh", "gr\u00f6\u00dfe"};
        assertThat(run(0, byScript(cron, args))).isEqualTo("gr\u00f6\u00dfe gr\u00f6\u00dfe none.");
        List<String> posix = List.of("LC_ALL=POSIX");
        assertThat(run(0, byScript(posix, args))).isEqualTo("gr\u00f6\u00dfe gr\u00f6\u00dfe POSIX.");
    }

    /** This JVM may itself have no way to pass such arguments; so a shell reads them from a file. */
    private static List<String> byScript(List<String> env, String... args) throws IOException {
        StringBuilder text = new StringBuilder("exec \"$1\"");
        for (String arg : args) {
            text.append(" '").append(arg.replace("'", "'\\''")).append('\'');
        }
        Path script = Files.writeString(Files.createTempFile(folder, "call", ".sh"), text.append('\n'));
        List<String> all = new ArrayList<>(env);
        all.addAll(List.of("sh", script.toString()));
        return all;
    }

    @Test
    void closedInputAndOutput_areTheNullDeviceForTheCommand() throws Exception {
        String script = "readlink /proc/self/fd/0 /proc/self/fd/2 >&1";
        List<String> env = List.of("sh", "-c", "\"$@\" <&- 2>&-", "sh");
        assertThat(run(0, env, "run", "closed", "--", "sh", "-c", script)).isEqualTo("/dev/null\n/dev/null\n");
    }

    @Test
    void replacedWhileItRuns_theCommandIsKilledAllTheSame() throws Exception {
        Path jar = home.resolve("lib/lock-cli.jar");
        byte[] content = Files.readAllBytes(jar);
        FileTime time = Files.getLastModifiedTime(jar);
        try (CliRun run = start(
                List.of("HOLDFAST_ARCHIVE=off"),
                "run",
                "--lease",
                "12s",
                "new",
                "--",
                "sh",
                "-c",
                "sleep 3; echo $$; exec sleep 100")) {
            run.awaitOut("\n");
            ProcessHandle program =
                    ProcessHandle.of(Long.parseLong(run.out().strip())).orElseThrow();
            Files.write(jar, new byte[content.length]);
            redis.command("FLUSHALL");
            run.await("the command is dead", () -> !program.isAlive());
            assertThat(run.status()).as(run.err()).isEqualTo(79);
        } finally {
            Files.write(jar, content);
            Files.setLastModifiedTime(jar, time);
        }
    }
}
