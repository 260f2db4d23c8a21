package dev.holdfast.lock.testkit.server.process;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * The classes that a program loads, in an archive of the JVM, for tests that start the program often: each start takes a quarter less
 * processor time. All test JVMs of a module share it, in its folder {@code target}; it is made again when a class has changed. In each JVM
 * for one thread at a time.
 */
public final class ClassArchive {
    private static final Path FOLDER = Path.of("target", "class-archives");

    private ClassArchive() {}

    /**
     * Returns options for {@code java}: where the program's classes are, and the archive if one could be made.
     *
     * @param name of the archive, for its folder
     * @param classPath of the program, in the platform's syntax
     * @param program runs once if there is no archive yet
     * @return the options
     * @throws UncheckedIOException if the archive's folder cannot be written
     * @throws IllegalStateException if interrupted while the program runs; the thread stays interrupted
     */
    public static List<String> options(String name, String classPath, Program program) {
        try {
            return madeOnce(name, classPath, program);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static List<String> madeOnce(String name, String classPath, Program program)
            throws IOException, InterruptedException {
        Files.createDirectories(FOLDER);
        Path folder = FOLDER.resolve(name).toAbsolutePath();
        try (FileChannel file = FileChannel.open(
                        FOLDER.resolve(name + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                var lock = file.lock()) {
            Path current = folder.resolve(key(classPath));
            Path archive = current.resolve("classes.jsa");
            if (!Files.exists(archive)) {
                deleteOld(folder);
                Files.createDirectories(current);
                String jars = jars(classPath, current);
                Path made = current.resolve("made.jsa");
                Files.deleteIfExists(made); // of a build that was killed
                try {
                    program.run(List.of("-XX:ArchiveClassesAtExit=" + made, "-Xlog:disable", "-cp", jars));
                } catch (IOException | RuntimeException e) {
                    System.err.println("no archive of the classes of '" + name + "', since it could not be run: " + e);
                }
                if (!Files.exists(made)) {
                    return List.of("-cp", classPath);
                }
                Files.writeString(current.resolve("class-path"), jars);
                Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE);
            }
            return List.of("-XX:SharedArchiveFile=" + archive, "-cp", Files.readString(current.resolve("class-path")));
        }
    }

    /** Another one for another JVM, other libraries, and other classes. */
    private static String key(String classPath) throws IOException {
        StringBuilder all = new StringBuilder(Runtime.version().toString()).append(classPath);
        for (String each : classPath.split(File.pathSeparator)) {
            try (Stream<Path> files = Files.exists(Path.of(each)) ? Files.walk(Path.of(each)) : Stream.empty()) {
                for (Path file : files.sorted().toList()) {
                    all.append(file).append(Files.getLastModifiedTime(file)).append(Files.size(file));
                }
            }
        }
        return UUID.nameUUIDFromBytes(all.toString().getBytes(StandardCharsets.UTF_8))
                .toString();
    }

    /** An archive has no classes of folders, so these are packed. */
    private static String jars(String classPath, Path into) {
        ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
        PrintStream out = System.out;
        List<String> jars = new ArrayList<>();
        for (String each : classPath.split(File.pathSeparator)) {
            if (!Files.isDirectory(Path.of(each))) {
                jars.add(each);
                continue;
            }
            String packed = into.resolve(jars.size() + ".jar").toString();
            if (jar.run(out, out, "--create", "--no-compress", "--file", packed, "-C", each, ".") != 0) {
                throw new IllegalStateException(each + " could not be packed");
            }
            jars.add(packed);
        }
        return String.join(File.pathSeparator, jars);
    }

    /** Those of classes that have changed since; what was made within a day may be in use. */
    private static void deleteOld(Path folder) throws IOException {
        Files.createDirectories(folder);
        Instant dayAgo = Instant.now().minus(Duration.ofDays(1));
        try (DirectoryStream<Path> archives = Files.newDirectoryStream(folder)) {
            for (Path archive : archives) {
                if (Files.getLastModifiedTime(archive).toInstant().isBefore(dayAgo)) {
                    delete(archive);
                }
            }
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path each : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    /** What is run once, so that its classes become known. */
    @FunctionalInterface
    public interface Program {
        /**
         * Runs the program, with all that the later ones load, and returns when its process has ended. A process that is killed
         * leaves no archive.
         *
         * @param options for {@code java}
         * @throws IOException if it cannot be run
         * @throws InterruptedException if interrupted
         */
        void run(List<String> options) throws IOException, InterruptedException;
    }
}
