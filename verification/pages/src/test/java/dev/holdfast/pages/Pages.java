package dev.holdfast.pages;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** The repository's pages of documentation. */
final class Pages {
    static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    private static final Set<String> NOT_OURS = Set.of("target", ".git", "node_modules", "work");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```.*?^```");

    private Pages() {}

    /** All Markdown files of the repository. */
    static List<Path> all() throws IOException {
        List<Path> pages = new ArrayList<>();
        Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                boolean ours = folder.equals(ROOT)
                        || !NOT_OURS.contains(folder.getFileName().toString());
                return ours ? FileVisitResult.CONTINUE : FileVisitResult.SKIP_SUBTREE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(".md")) {
                    pages.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        Collections.sort(pages);
        return pages;
    }

    static String name(Path page) {
        return ROOT.relativize(page).toString();
    }

    static String text(Path page) {
        try {
            return Files.readString(page);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The text without its blocks of code. */
    static String prose(Path page) {
        return BLOCK.matcher(text(page)).replaceAll("");
    }

    /** The anchors of a page's headings, as GitHub makes them. */
    static List<String> anchors(Path page) {
        List<String> anchors = new ArrayList<>();
        prose(page).lines().filter(line -> line.matches("#{1,6} .*")).forEach(line -> {
            String heading = line.replaceFirst("^#+ ", "").replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1");
            String anchor = heading.strip()
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^\\p{L}\\p{N} _-]", "")
                    .replace(' ', '-');
            int number = 0;
            String unique = anchor;
            while (anchors.contains(unique)) {
                number++;
                unique = anchor + "-" + number;
            }
            anchors.add(unique);
        });
        return anchors;
    }
}
