package dev.holdfast.mutants;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The mutants of a module that were noticed, with the classes and tests of now: a run that was cut short goes on behind
 * them. Any other class, test or text of a mutant makes it another one. Thread-safe.
 */
final class NoticedMutants {
    private final Path page;
    private final String build;
    private final Set<String> before;

    private NoticedMutants(Path page, String build, Set<String> before) {
        this.page = page;
        this.build = build;
        this.before = before;
    }

    /**
     * Opens the page.
     *
     * @param page where they are kept
     * @param classPath of the module's tests, of which the folders count
     * @param resume whether those of earlier runs count
     */
    static NoticedMutants open(Path page, String classPath, boolean resume) throws IOException {
        Set<String> before = new HashSet<>();
        if (resume && Files.exists(page)) {
            before.addAll(Files.readAllLines(page));
        } else {
            Files.deleteIfExists(page);
        }
        List<Path> folders = Arrays.stream(classPath.split(File.pathSeparator))
                .map(Path::of)
                .filter(Files::isDirectory)
                .toList();
        return new NoticedMutants(page, digest(folders), before);
    }

    boolean contains(KnownMutant mutant) {
        return before.contains(key(mutant));
    }

    synchronized void add(KnownMutant mutant) throws IOException {
        Files.writeString(page, key(mutant) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private String key(KnownMutant mutant) {
        MessageDigest digest = sha256();
        digest.update(mutant.toString().getBytes(StandardCharsets.UTF_8));
        return build + " " + HexFormat.of().formatHex(digest.digest());
    }

    private static String digest(List<Path> folders) throws IOException {
        MessageDigest digest = sha256();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    digest.update(folder.relativize(file).toString().getBytes(StandardCharsets.UTF_8));
                    digest.update(Files.readAllBytes(file));
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
