package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The files of the scripts: complete headers, no unknown name, no unused file; and they are read from a jar as well. */
final class ScriptFilesTest {
    private static final String FOLDER = "dev/holdfast/lock/redis/internal/script/";
    private static final Path FILES = Path.of("src/main/resources", FOLDER);
    private static final Pattern INCLUDE = Pattern.compile("(?m)^ *-- include: (\\S+)$");
    private static final Pattern OWN_NAMES = Pattern.compile("(?m)^local (?:function )?([\\w, ]+?)(?: =|\\(|$)");
    private static final List<RedisScript> SCRIPTS = Stream.concat(
                    RedisScript.ALL.stream(), RedisDemandScripts.ALL.stream())
            .toList();
    private static final Set<String> OF_REDIS =
            Set.of("KEYS ARGV redis string math table tonumber type ipairs rawget setmetatable".split(" "));

    static Stream<Path> files() throws IOException {
        try (Stream<Path> files = Files.walk(FILES)) {
            return files.filter(Files::isRegularFile).sorted().toList().stream();
        }
    }

    static List<RedisScript> scripts() {
        return SCRIPTS;
    }

    private static boolean isPart(Path file) {
        return file.getParent().endsWith("parts");
    }

    private static String name(Path file) {
        return file.getFileName().toString().replaceFirst("\\.lua$", "");
    }

    private static Set<String> includes(String text) {
        return INCLUDE.matcher(text)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @ParameterizedTest
    @MethodSource("files")
    void file_hasItsHeader_andReadableLines(Path file) throws IOException {
        String text = Files.readString(file);
        String header = text.substring(0, text.indexOf("\n\n"));

        assertThat(header.lines()).allMatch(line -> line.startsWith("--"));
        assertThat(header).startsWith("-- ").containsPattern("^-- \\S.*\\.\\n");
        for (String word : isPart(file) ? List.of("Needs", "Gives") : List.of("Keys", "Arguments", "Answers")) {
            assertThat(header).containsOnlyOnce("\n-- " + word + ": ");
        }
        assertThat(text.lines()).allMatch(line -> line.length() <= 140 && line.equals(line.stripTrailing()));
        assertThat(text.lines().filter(line -> !line.stripLeading().startsWith("--")))
                .as("what ScriptText and LuaNames do not read")
                .noneMatch(line -> line.matches(".*(--|\\[\\[|\"|\t).*"));
    }

    @ParameterizedTest
    @MethodSource("files")
    void part_saysWhatItNeedsAndGives(Path file) throws IOException {
        if (!isPart(file)) {
            return;
        }
        String text = Files.readString(file);
        Set<String> own = OWN_NAMES
                .matcher(text)
                .results()
                .flatMap(found -> Stream.of(found.group(1).split(", ")))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(words(text, "Gives")).isEqualTo(own);
        Set<String> needed = new TreeSet<>(LuaNames.free(text));
        needed.removeAll(OF_REDIS);
        for (String include : includes(text)) {
            needed.removeAll(words(Files.readString(FILES.resolve("parts/" + include + ".lua")), "Gives"));
        }
        assertThat(words(text, "Needs")).isEqualTo(needed);
    }

    private static Set<String> words(String text, String head) {
        String line = text.lines()
                .filter(each -> each.startsWith("-- " + head + ": "))
                .findFirst()
                .orElseThrow();
        String list = line.substring(line.indexOf(": ") + 2);
        return list.equals("nothing") ? Set.of() : new TreeSet<>(List.of(list.split(", ")));
    }

    @Test
    void files_areAllUsed() throws IOException {
        Set<String> used = SCRIPTS.stream().map(RedisScript::name).collect(Collectors.toCollection(TreeSet::new));
        Set<String> present = new TreeSet<>();
        for (Path file : files().toList()) {
            present.add((isPart(file) ? "parts/" : "") + name(file));
            includes(Files.readString(file)).forEach(part -> used.add("parts/" + part));
        }
        assertThat(present).isEqualTo(used);
    }

    @ParameterizedTest
    @MethodSource("scripts")
    void script_usesDeclaredNamesOnly_eachPartOnce(RedisScript script) {
        assertThat(OF_REDIS).containsAll(LuaNames.free(script.body()));
        assertThat(script.body()).as("comments").doesNotContain("--");
        List<String> functions = script.body()
                .lines()
                .filter(line -> line.startsWith("local function "))
                .toList();
        assertThat(functions).doesNotHaveDuplicates();
        assertThat(script.body().lines().filter(line -> line.startsWith("local STATE")))
                .hasSize(1);
    }

    @Test
    void freeNames_areFound() {
        assertThat(LuaNames.free("local a = 1\nif a then local b = a end\nreturn b"))
                .containsExactly("b");
        assertThat(LuaNames.free("for i, x in ipairs(t) do c = {d = x.e} end\nreturn i"))
                .containsExactly("c", "i", "ipairs", "t");
        assertThat(LuaNames.free("local function f(a, b) return a .. 'g' end\nreturn f(b)"))
                .containsExactly("b");
        assertThatThrownBy(() -> LuaNames.free("if a then return")).hasMessageContaining("no end");
    }

    @Test
    void script_isCompiledByRedis_underItsDigest() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            for (RedisScript script : SCRIPTS) {
                assertThat(server.command("SCRIPT", "LOAD", script.body())).isEqualTo(script.digest());
            }
        }
    }

    @Test
    void scripts_areReadFromAJar(@TempDir Path folder) throws Exception {
        Path jar = folder.resolve("redis.jar");
        pack(jar, true);
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
            Class<?> inJar = loader.loadClass(ScriptText.class.getName());
            var read = inJar.getDeclaredMethod("read", String.class);
            read.setAccessible(true);
            for (RedisScript script : SCRIPTS) {
                assertThat(read.invoke(null, script.name())).isEqualTo(script.body());
            }
        }
    }

    @Test
    void jarWithoutTheFiles_saysWhatIsMissing(@TempDir Path folder) throws Exception {
        Path jar = folder.resolve("redis.jar");
        pack(jar, false);
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
            assertThatThrownBy(() -> Class.forName(RedisScript.class.getName(), true, loader))
                    .isInstanceOf(ExceptionInInitializerError.class)
                    .rootCause()
                    .hasMessageStartingWith("script attempt.lua is missing")
                    .hasMessageContaining("must keep the .lua files");
        }
    }

    private static void pack(Path jar, boolean withFiles) throws IOException {
        TreeMap<String, byte[]> entries = new TreeMap<>();
        for (Class<?> type : List.of(ScriptText.class, RedisScript.class)) {
            String entry = type.getName().replace('.', '/') + ".class";
            try (InputStream in = type.getResourceAsStream("/" + entry)) {
                entries.put(entry, in.readAllBytes());
            }
        }
        for (Path file : withFiles ? files().toList() : List.<Path>of()) {
            entries.put(FOLDER + (isPart(file) ? "parts/" : "") + file.getFileName(), Files.readAllBytes(file));
        }
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream to = new JarOutputStream(out)) {
            for (var entry : entries.entrySet()) {
                to.putNextEntry(new JarEntry(entry.getKey()));
                to.write(entry.getValue());
            }
        }
    }
}
