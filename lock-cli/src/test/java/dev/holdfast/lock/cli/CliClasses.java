package dev.holdfast.lock.cli;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;

/**
 * Where a process of the command finds its classes: tests start it some hundred times, so what a run loads is put into an archive of
 * the JVM first. Each start takes a quarter less processor time with it.
 */
final class CliClasses {
    private static final List<String> OPTIONS = archived(System.getProperty("java.class.path"));

    private CliClasses() {}

    /** The class path, and the archive if one could be made. */
    static List<String> options() {
        return OPTIONS;
    }

    private static List<String> archived(String classPath) {
        try {
            Path folder = Files.createTempDirectory("holdfast-classes");
            folder.toFile().deleteOnExit();
            String jars = jars(classPath, folder);
            Path archive = folder.resolve("classes.jsa");
            if (make(archive, jars)) {
                archive.toFile().deleteOnExit();
                return List.of("-XX:SharedArchiveFile=" + archive, "-cp", jars);
            }
            return List.of("-cp", classPath);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
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
            Path packed = into.resolve(jars.size() + ".jar");
            packed.toFile().deleteOnExit();
            if (jar.run(out, out, "--create", "--no-compress", "--file", packed.toString(), "-C", each, ".") != 0) {
                throw new IllegalStateException(each + " could not be packed");
            }
            jars.add(packed.toString());
        }
        return String.join(File.pathSeparator, jars);
    }

    /** Runs the command once, on a store that refuses it. */
    private static boolean make(Path archive, String jars) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(CliRun.jvm());
        command.addAll(List.of("-XX:ArchiveClassesAtExit=" + archive, "-cp", jars, Holdfast.class.getName()));
        command.addAll(List.of("run", "--store", "memcached://127.0.0.1:1", "--timeout", "200ms", "x", "--", "true"));
        Process making = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!making.waitFor(2, TimeUnit.MINUTES)) {
            making.destroyForcibly();
            return false;
        }
        return Files.exists(archive);
    }
}
