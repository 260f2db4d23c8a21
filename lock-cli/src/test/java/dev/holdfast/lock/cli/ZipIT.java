package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
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
        Files.createDirectories(archive());
        for (int day = 1; day <= 3; day++) {
            Path old = Files.writeString(archive().resolve(day + ".jsa"), "of an older version");
            Files.setLastModifiedTime(old, FileTime.fromMillis(TimeUnit.DAYS.toMillis(day)));
        }
        try (CliRun first = start(List.of(), "--version")) {
            assertThat(first.status()).as(first.err()).isZero();
            assertThat(first.out()).matches("holdfast [0-9]+[.].+\n");
            assertThat(archives()).as("it did not wait for its archive").hasSize(3);
            Awaitility.await("the archive is made in the background")
                    .atMost(Duration.ofMinutes(5))
                    .until(() ->
                            archives().stream().anyMatch(file -> file.toFile().length() > 1_000_000));
        }
        Awaitility.await("the older archives are removed, but for one")
                .atMost(Duration.ofSeconds(20))
                .until(() -> archives().size() == 2);
    }

    private static List<Path> archives() throws IOException {
        try (Stream<Path> files = Files.list(archive())) {
            return files.filter(file -> file.toString().endsWith(".jsa")).toList();
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
    void manualPage_andCompletion_areInIt() throws Exception {
        assertThat(home.resolve("share/man/man1/holdfast.1"))
                .content()
                .startsWith(".TH HOLDFAST 1")
                .contains("HOLDFAST DOCTOR")
                .contains("memcached:");
        Path completion = home.resolve("share/bash-completion/completions/holdfast");
        String script =
                ". \"$1\"; COMP_WORDS=(holdfast el); COMP_CWORD=1; _complete_holdfast; echo \"${COMPREPLY[@]}\"";
        try (CliRun bash = CliRun.start("", List.of("bash", "-c", script, "bash", completion.toString()))) {
            assertThat(bash.status()).as(bash.err()).isZero();
            assertThat(bash.out()).contains("elect");
        }
    }

    @Test
    void eachLibrary_isInTheBillOfMaterials_withALicenceWhoseTextIsThere() throws Exception {
        assertThat(home.resolve("LICENSE")).content().contains("Apache License");
        JsonObject bill = JsonParser.parseString(Files.readString(home.resolve("bom.json")))
                .getAsJsonObject();
        Set<String> jars = new TreeSet<>();
        for (JsonElement element : bill.getAsJsonArray("components")) {
            JsonObject each = element.getAsJsonObject();
            String name = each.get("name").getAsString();
            jars.add(name + "-" + each.get("version").getAsString() + ".jar");
            Matcher words = Pattern.compile("[A-Z][A-Za-z0-9.-]+")
                    .matcher(each.get("licenses").toString());
            assertThat(words.results()
                            .map(MatchResult::group)
                            .anyMatch(id ->
                                    id.equals("Apache-2.0") || Files.exists(home.resolve("licences/" + id + ".txt"))))
                    .as("%s: the text of one of its licences %s", name, each.get("licenses"))
                    .isTrue();
        }
        try (Stream<Path> files = Files.list(home.resolve("lib"))) {
            assertThat(files.map(file -> file.getFileName().toString())
                            .filter(name -> name.endsWith(".jar") && !name.equals("lock-cli.jar")))
                    .isNotEmpty()
                    .allMatch(name -> jars.contains(name) || name.matches(".*-(linux|osx|windows).*"), "is listed");
        }
    }

    @Test
    void signalsOfTheJvm_areForwarded_orIgnored() throws Exception {
        String script =
                "trap 'echo got USR2; exit 9' USR2; echo \"${_JAVA_SR_SIGNUM-none}\"; while :; do sleep 0.05; done";
        try (CliRun run = start(List.of(), "run", "jvm", "--", "bash", "-c", script)) {
            run.awaitOut("none\n");
            run.signal("QUIT");
            run.signal("USR2");
            assertThat(run.status()).isEqualTo(9);
            assertThat(run.out()).as("no dump of Java's threads").isEqualTo("none\ngot USR2\n");
            assertThat(run.err()).isEmpty();
        }
    }

    @Test
    void javaThatCannotStart_71() throws Exception {
        String limited = "ulimit -v 300000; exec \"$0\" \"$@\"";
        for (List<String> env : List.of(List.of("sh", "-c", limited), List.of("JAVA_OPTS=-XX:NoSuchOption"))) {
            try (CliRun run = start(env, "run", "x", "--", "echo", "done")) {
                assertThat(run.status()).as(run.out() + run.err()).isEqualTo(71);
                assertThat(run.out()).isEmpty();
                assertThat(run.err())
                        .startsWith("holdfast: Java cannot start: ")
                        .hasLineCount(1);
            }
        }
    }

    /** What the package installs, without installing it. */
    @Test
    void package_hasItsArchiveMade_whenItIsInstalled() throws Exception {
        try (CliRun made = CliRun.start("", List.of("../bin/package-deb", folder.toString()))) {
            assertThat(made.status()).as(made.err()).isZero();
            Path root = folder.resolve("root");
            try (CliRun unpacked =
                    CliRun.start("", List.of("dpkg-deb", "-x", made.out().strip(), root.toString()))) {
                assertThat(unpacked.status()).as(unpacked.err()).isZero();
            }
            assertThat(root.resolve("usr/share/man/man1/holdfast.1.gz")).isNotEmptyFile();
            assertThat(root.resolve("usr/share/bash-completion/completions/holdfast"))
                    .isNotEmptyFile();
            assertThat(root.resolve("usr/share/doc/holdfast/licences/LGPL-2.1-or-later.txt"))
                    .isNotEmptyFile();
            Path before = home;
            home = root.resolve("usr");
            try {
                // With the command's own classes only, it is made in seconds.
                Path classes = home.resolve("lib/holdfast/lib/classes.txt");
                Files.write(
                        classes,
                        Files.readAllLines(classes).stream()
                                .filter(line -> line.matches("(dev/holdfast/lock/cli|java/lang)/.*"))
                                .toList());
                run(0, List.of(), "--make-archive");
                Path log = folder.resolve("package.log");
                List<String> env =
                        List.of("-u", "HOME", "-u", "HOLDFAST_ARCHIVE", "JAVA_OPTS=-Xlog:class+load:file=" + log);
                assertThat(run(4, env, "run", "package", "--", "sh", "-c", "exit 4"))
                        .isEmpty();
                assertThat(Files.readAllLines(log))
                        .filteredOn(line -> line.contains("dev.holdfast.lock.cli.RunCommand source"))
                        .hasSize(1)
                        .allMatch(line -> line.contains("shared objects file"));
            } finally {
                home = before;
            }
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
        assertThat(run(0, List.of("-u", "HOME", "-u", "HOLDFAST_ARCHIVE"), "run", "a", "--", "echo", "done"))
                .isEqualTo("done\n");
        assertThat(Path.of("/nonexistent")).doesNotExist();
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
