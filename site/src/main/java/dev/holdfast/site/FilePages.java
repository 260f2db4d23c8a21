package dev.holdfast.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Pages that show files and folders of the repository, so that links to a source or a test lead somewhere. */
final class FilePages {
    private final Path root;
    private final Locations locations;

    FilePages(Path root, Locations locations) {
        this.root = root;
        this.locations = locations;
    }

    Page read(Path source) throws IOException {
        return Files.isDirectory(root.resolve(source)) ? folder(source) : file(source);
    }

    private Page file(Path source) throws IOException {
        String html = "<h1 class=\"path\">%s</h1>\n<pre><code>%s</code></pre>\n"
                .formatted(escape(source.toString()), escape(Files.readString(root.resolve(source))));
        return new Page(source, locations.onSite(source), source.toString(), html, List.of(), List.of());
    }

    private Page folder(Path source) throws IOException {
        List<Path> files;
        try (Stream<Path> list = Files.list(root.resolve(source))) {
            files = list.map(root::relativize)
                    .filter(FilePages::isOurs)
                    .sorted()
                    .toList();
        }
        Path target = locations.onSite(source);
        String items = files.stream()
                .map(file -> "<li><a href=\"%s\">%s</a></li>\n"
                        .formatted(
                                Locations.relative(target, locations.onSite(file)),
                                escape(source.relativize(file).toString())))
                .collect(Collectors.joining());
        String html = "<h1 class=\"path\">%s</h1>\n<ul>\n%s</ul>\n".formatted(escape(source.toString()), items);
        return new Page(source, target, source.toString(), html, List.of(), files);
    }

    /** Neither hidden nor written by the build. */
    private static boolean isOurs(Path file) {
        String name = String.valueOf(file.getFileName());
        return !name.startsWith(".") && !name.equals("target");
    }

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
