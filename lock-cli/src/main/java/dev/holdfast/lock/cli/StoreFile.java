package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockConfigurationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;

/** A file with the store's address, which may hold a password. */
final class StoreFile {
    private StoreFile() {}

    /** Returns the first line that is neither empty nor a comment. */
    static String read(Path file) {
        try {
            refuseReadableByOthers(file);
            return Files.readAllLines(file).stream()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .findFirst()
                    .orElseThrow(() -> new LockConfigurationException("--store-file " + file + " holds no address"));
        } catch (IOException e) {
            throw new LockConfigurationException("--store-file " + file + " cannot be read: " + e, e);
        }
    }

    private static void refuseReadableByOthers(Path file) throws IOException {
        Set<PosixFilePermission> mode;
        try {
            mode = Files.getPosixFilePermissions(file);
        } catch (UnsupportedOperationException e) {
            return; // a system without such modes
        }
        if (mode.contains(PosixFilePermission.OTHERS_READ) || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new LockConfigurationException(
                    "--store-file " + file + " can be read or written by other users; fix: chmod 640 " + file);
        }
    }
}
