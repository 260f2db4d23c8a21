package dev.holdfast.examples.parts;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A temporary folder for the database files and the log of one run. It is removed at the end, after Ctrl-C too. */
public final class DemoFolder implements AutoCloseable {

    private static final int ATTEMPTS = 3;

    private final Path path;
    private final AtExit end;

    private DemoFolder(Path path) {
        this.path = path;
        this.end = AtExit.run(this::delete);
    }

    /**
     * Makes a folder.
     *
     * @return the folder, to be closed
     * @throws IOException if it cannot be made
     */
    public static DemoFolder create() throws IOException {
        Path path = Files.createTempDirectory("holdfast-demo-");
        path.toFile().deleteOnExit(); // after all hooks: a database that is just being closed makes its folder again
        return new DemoFolder(path);
    }

    /**
     * Returns where the folder is.
     *
     * @return its path
     */
    public Path path() {
        return path;
    }

    /**
     * Returns the address of a database in this folder: embedded in the process that opens it first, served by it to the
     * others.
     *
     * @param name the name of the file
     * @return a JDBC URL of H2
     */
    public String database(String name) {
        return "jdbc:h2:file:" + path.resolve(name) + ";AUTO_SERVER=TRUE;LOCK_TIMEOUT=10000";
    }

    @Override
    public void close() {
        end.close();
    }

    /** Again if a database is just being closed, which removes and makes files. */
    private void delete() {
        for (int attempt = 1; Files.exists(path); attempt++) {
            try (Stream<Path> files = Files.walk(path)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(file);
                }
            } catch (IOException | UncheckedIOException e) {
                if (attempt == ATTEMPTS) {
                    System.err.println("demo: cannot remove " + path + ": " + e.getMessage());
                    return;
                }
            }
        }
    }
}
