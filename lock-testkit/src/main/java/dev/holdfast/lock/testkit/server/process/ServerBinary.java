package dev.holdfast.lock.testkit.server.process;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Finds server binaries on the path and in the folders that packages keep off it. Thread-safe. */
public final class ServerBinary {

    private ServerBinary() {}

    /**
     * Finds the first of some binaries.
     *
     * @param names file names in order of preference, such as {@code mariadbd, mysqld}
     * @param folders more folders to look in after the path; each may have {@code *} for one path element, and the last in
     *     natural order wins, so that {@code /usr/lib/postgresql/*}{@code /bin} finds the newest
     * @return the absolute path of an executable file
     * @throws IllegalStateException if none is there; the message says how to install it
     */
    public static Path find(List<String> names, String... folders) {
        List<Path> places = new ArrayList<>();
        for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            if (!folder.isEmpty()) {
                places.add(Path.of(folder));
            }
        }
        for (String folder : folders) {
            places.addAll(expand(folder));
        }
        places.add(Path.of("/usr/sbin"));
        places.add(Path.of("/usr/local/sbin"));
        for (String name : names) {
            for (Path environment : places) {
                Path file = environment.resolve(name);
                if (Files.isRegularFile(file) && Files.isExecutable(file)) {
                    return file.toAbsolutePath();
                }
            }
        }
        throw new IllegalStateException("server binary '" + String.join("' or '", names) + "' not found in " + places
                + "; install the servers that the tests need with bin/install-servers");
    }

    private static List<Path> expand(String folder) {
        int star = folder.indexOf('*');
        if (star < 0) {
            return List.of(Path.of(folder));
        }
        Path parent = Path.of(folder.substring(0, folder.lastIndexOf('/', star)));
        PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + folder);
        if (!Files.isDirectory(parent)) {
            return List.of();
        }
        int depth = Path.of(folder).getNameCount() - parent.getNameCount();
        try (Stream<Path> found = Files.walk(parent, depth)) {
            return found.filter(matcher::matches)
                    .sorted(Comparator.comparing(ServerBinary::padded).reversed())
                    .toList();
        } catch (IOException e) {
            throw new IllegalStateException("cannot look for server binaries in " + folder, e);
        }
    }

    /** Pads numbers so that text order is natural order: 9 comes before 15. */
    private static String padded(Path path) {
        StringBuilder result = new StringBuilder();
        for (String part : path.toString().split("(?<=\\D)(?=\\d)|(?<=\\d)(?=\\D)")) {
            boolean number = !part.isEmpty() && Character.isDigit(part.charAt(0));
            result.append(number ? "0".repeat(Math.max(0, 12 - part.length())) : "")
                    .append(part);
        }
        return result.toString();
    }
}
