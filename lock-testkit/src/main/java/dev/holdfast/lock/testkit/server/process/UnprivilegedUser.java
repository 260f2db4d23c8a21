package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.stream.Stream;

/**
 * Whom a server runs as: this process's user, or {@code nobody} for servers that refuse to run as root. The command
 * prefix is setpriv, which replaces itself by the command, so that the process id is the server's own.
 */
record UnprivilegedUser(boolean nobody) {

    private static final String NAME = "nobody";

    /** The same user as this process, which is enough unless that is root. */
    static UnprivilegedUser choose(boolean demanded) {
        return new UnprivilegedUser(demanded && "root".equals(System.getProperty("user.name")));
    }

    List<String> prefix() {
        if (!nobody) {
            return List.of();
        }
        Path setpriv = ServerBinary.find(List.of("setpriv"));
        return List.of(setpriv.toString(), "--reuid=" + NAME, "--regid=" + groupId(), "--clear-groups", "--");
    }

    void own(Path folder) throws IOException {
        if (!nobody) {
            return;
        }
        UserPrincipal user =
                FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName(NAME);
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.toList()) {
                if (!user.equals(Files.getOwner(file))) {
                    Files.setOwner(file, user);
                }
            }
        }
    }

    /** The primary group of the user in the password file; setpriv takes numbers everywhere. */
    private static String groupId() {
        try (Stream<String> lines = Files.lines(Path.of("/etc/passwd"))) {
            return lines.map(line -> line.split(":"))
                    .filter(fields -> fields.length > 3 && NAME.equals(fields[0]))
                    .map(fields -> fields[3])
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException(
                            "no user '" + NAME + "' to run the server as: it refuses to run as root"));
        } catch (IOException e) {
            throw new IllegalStateException("cannot read the password file to find user '" + NAME + "'", e);
        }
    }
}
