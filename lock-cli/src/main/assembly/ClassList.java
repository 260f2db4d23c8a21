import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.jar.JarFile;

/**
 * Writes the list of classes for the archive that the launcher creates: {@code java ClassList.java JAR LIB LIST}. The build
 * runs it while packaging. Beside the list it writes a checksum of the jars, {@code build-id}, which tells one archive from another.
 *
 * <p>It runs the command on each kind of store and records the loaded classes. No server is needed: H2 works, and
 * the other drivers fail to connect. Classes that only an answering server would load are found in the constant pools: the
 * list also has all classes of Holdfast, and all classes that a listed class of a jar refers to.
 */
class ClassList {
    private static final String HOLDFAST = "dev/holdfast/";
    private static final List<Path> FOLDERS = new ArrayList<>();
    private static final List<List<String>> RUNS = List.of(
            List.of("--version"),
            List.of("run", "--store", h2(1), "x", "--", "true"),
            List.of("elect", "--store", h2(2), "x", "--", "/none"),
            List.of("holder", "--store", h2(3), "--json", "x"),
            List.of("ls", "--store", h2(4)),
            List.of("doctor", h2(5)),
            refused("redis://127.0.0.1:1"),
            refused("etcd://127.0.0.1:1"),
            refused("zookeeper://127.0.0.1:1"),
            refused("consul://127.0.0.1:1"),
            refused("memcached://127.0.0.1:1"),
            refused("jdbc:postgresql://127.0.0.1:1/x"),
            refused("jdbc:mariadb://127.0.0.1:1/x"));

    /** A database of its own for each run, since they run at the same time. */
    private static String h2(int number) {
        try {
            Path folder = Files.createTempDirectory("holdfast");
            FOLDERS.add(folder);
            return "jdbc:h2:file:" + folder.resolve("locks" + number) + "?holdfast.createTable=true";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> refused(String store) {
        return List.of("run", "--store", store, "--timeout", "200ms", "x", "--", "true");
    }

    public static void main(String[] args) throws Exception {
        List<Path> jars = new ArrayList<>(List.of(Path.of(args[0])));
        try (DirectoryStream<Path> libraries = Files.newDirectoryStream(Path.of(args[1]), "*.jar")) {
            libraries.forEach(jars::add);
        }
        Set<String> lines = new TreeSet<>();
        String classPath = args[0] + File.pathSeparator + args[1] + "/*";
        ExecutorService runners = Executors.newFixedThreadPool(4); // most of them wait for a time-out
        try {
            List<Callable<List<String>>> runs = new ArrayList<>();
            RUNS.forEach(run -> runs.add(() -> recorded(classPath, run)));
            for (Future<List<String>> recorded : runners.invokeAll(runs)) {
                lines.addAll(recorded.get());
            }
        } finally {
            runners.shutdown();
            for (Path folder : FOLDERS) {
                try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
                    for (Path file : files) {
                        Files.delete(file);
                    }
                }
                Files.delete(folder);
            }
        }
        lines.addAll(classesOfHoldfast(jars));
        lines.addAll(referred(jars, lines));
        Path list = Path.of(args[2]).toAbsolutePath();
        Files.createDirectories(list.getParent());
        Files.write(list, lines);
        Files.writeString(list.resolveSibling("build-id"), checksum(jars) + "\n");
    }

    /** Of the names and contents of the jars, whatever their times are. */
    private static String checksum(List<Path> jars) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        for (Path jar : jars.stream().sorted(Comparator.comparing(Path::getFileName)).toList()) {
            digest.update(jar.getFileName().toString().getBytes(StandardCharsets.UTF_8));
            digest.update(Files.readAllBytes(jar));
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static List<String> recorded(String classPath, List<String> run) throws IOException, InterruptedException {
        Path file = Files.createTempFile("holdfast", ".classes");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:DumpLoadedClassList=" + file,
                "-Dio.lettuce.core.jfr=false",
                "-cp",
                classPath,
                "dev.holdfast.lock.cli.Holdfast"));
        command.addAll(run);
        try {
            new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor();
            return Files.readAllLines(file).stream()
                    .filter(line -> !line.startsWith("#") && !line.matches(".*\\$Proxy[0-9].*"))
                    .toList();
        } finally {
            Files.delete(file);
        }
    }

    private static Set<String> classesOfHoldfast(List<Path> jars) throws IOException {
        Set<String> classes = new TreeSet<>();
        for (Path jar : jars) {
            try (JarFile file = new JarFile(jar.toFile())) {
                file.stream()
                        .map(entry -> entry.getName())
                        .filter(name -> name.startsWith(HOLDFAST) && name.endsWith(".class"))
                        .filter(name -> !name.endsWith("-info.class"))
                        .forEach(name -> classes.add(name.substring(0, name.length() - ".class".length())));
            }
        }
        return classes;
    }

    /** The classes that exist and that a listed class of a jar refers to. */
    private static Set<String> referred(List<Path> jars, Set<String> lines) throws IOException {
        URL[] urls = new URL[jars.size()];
        for (int i = 0; i < urls.length; i++) {
            urls[i] = jars.get(i).toUri().toURL();
        }
        Set<String> referred = new TreeSet<>();
        try (URLClassLoader libraries = new URLClassLoader(urls, null)) {
            for (String line : lines) {
                InputStream found = line.startsWith("@") ? null : libraries.getResourceAsStream(line + ".class");
                if (found != null) {
                    try (DataInputStream in = new DataInputStream(new BufferedInputStream(found))) {
                        addConstants(in, referred);
                    }
                }
            }
            referred.removeIf(name -> ClassLoader.getSystemResource(name + ".class") == null
                    && libraries.getResource(name + ".class") == null);
        }
        return referred;
    }

    /** Reads the constant pool of a class file (JVMS 4.4) and adds the classes in it. */
    private static void addConstants(DataInputStream in, Set<String> classes) throws IOException {
        in.skipNBytes(8);
        int count = in.readUnsignedShort();
        String[] texts = new String[count];
        List<Integer> names = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1 -> texts[i] = in.readUTF();
                case 7 -> names.add(in.readUnsignedShort());
                case 8, 16, 19, 20 -> in.skipNBytes(2);
                case 15 -> in.skipNBytes(3);
                case 5, 6 -> {
                    in.skipNBytes(8);
                    i++; // takes two entries
                }
                default -> in.skipNBytes(4);
            }
        }
        names.stream().map(name -> texts[name]).filter(name -> !name.startsWith("[")).forEach(classes::add);
    }
}
