package dev.holdfast.examples.deploy;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The class path with which the build would start this module's programs, and what tests make of it. */
final class ClassPaths {
    private static final Path TARGET = Path.of("target").toAbsolutePath();

    private ClassPaths() {}

    /** All that an application with all backends has at run time, as Maven resolves it. */
    static List<Path> runtime() throws IOException {
        return Stream.of(Files.readString(TARGET.resolve("runtime-class-path.txt"))
                        .strip()
                        .split(File.pathSeparator))
                .map(Path::of)
                .toList();
    }

    /** The compiled tests, among which the children's main classes are. */
    static Path tests() {
        return TARGET.resolve("test-classes");
    }

    /** Jars that the build has copied into a folder. */
    static List<Path> copied(String folder) throws IOException {
        try (Stream<Path> jars = Files.list(TARGET.resolve(folder))) {
            return jars.filter(jar -> jar.toString().endsWith(".jar")).sorted().toList();
        }
    }

    static String joined(List<Path> entries) {
        return String.join(
                File.pathSeparator, entries.stream().map(Path::toString).toList());
    }

    /** The same entries with a folder of classes packed as the build packs it: a folder cannot be an automatic module. */
    static List<Path> packed(List<Path> entries, Path folder) throws IOException {
        List<Path> jars = new ArrayList<>();
        for (Path entry : entries) {
            jars.add(Files.isDirectory(entry) ? pack(entry, folder) : entry);
        }
        return jars;
    }

    private static Path pack(Path classes, Path folder) throws IOException {
        Path module = classes.getParent().getParent();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        Matcher name = Pattern.compile("<Automatic-Module-Name>([\\w.]+)<")
                .matcher(Files.readString(module.resolve("pom.xml")));
        if (name.find()) {
            manifest.getMainAttributes().put(new Attributes.Name("Automatic-Module-Name"), name.group(1));
        }
        Path jar = folder.resolve(module.getFileName() + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream packed = new JarOutputStream(out, manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String entry = classes.relativize(file).toString().replace(File.separatorChar, '/');
                if (!entry.equals("META-INF/MANIFEST.MF")) {
                    packed.putNextEntry(new JarEntry(entry));
                    Files.copy(file, packed);
                    packed.closeEntry();
                }
            }
        }
        return jar;
    }
}
