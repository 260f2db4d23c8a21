package dev.holdfast.site;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Where files of the repository are on the site. All paths are relative to the repository or to the site. Immutable. */
final class Locations {
    static final Path README = Path.of("README.md");
    static final Path FIRST_PAGE = Path.of("index.html");

    /** The repository's page that is the first one of the site. */
    private static final Path START = Path.of("docs", "README.md");

    private static final List<String> PICTURES = List.of(".svg", ".png", ".jpg", ".gif");

    private final Path root;

    Locations(Path root) {
        this.root = root;
    }

    static boolean isPage(Path file) {
        return file.toString().endsWith(".md");
    }

    static boolean isPicture(Path file) {
        return PICTURES.stream().anyMatch(file.toString()::endsWith);
    }

    /** What a link of a page leads to, if that is in the repository and there: a page, a file, or a folder's page. */
    Optional<Path> target(Path page, String link) {
        if (isExternal(link) || link.startsWith("#")) {
            return Optional.empty();
        }
        Path target = page.resolveSibling(link.split("#", 2)[0]).normalize();
        if (target.startsWith("..") || !Files.exists(root.resolve(target))) {
            return Optional.empty();
        }
        Path readme = target.resolve("README.md");
        return Optional.of(Files.exists(root.resolve(readme)) ? readme : target);
    }

    /** The file of the site that shows a page, a picture, another file or a folder of the repository. */
    Path onSite(Path file) {
        String name = file.toString();
        if (file.equals(README)) {
            return Path.of("readme.html");
        } else if (file.equals(START)) {
            return FIRST_PAGE;
        } else if (name.endsWith("README.md")) {
            return file.resolveSibling("index.html");
        } else if (isPage(file)) {
            return Path.of(name.substring(0, name.length() - ".md".length()) + ".html");
        } else if (isPicture(file)) {
            return file;
        }
        return Files.isDirectory(root.resolve(file)) ? file.resolve("index.html") : Path.of(name + ".html");
    }

    /** A page's link, translated to the site; a link out of the repository or to a missing file is unchanged. */
    String rewrite(Path page, String link) {
        int anchor = link.indexOf('#');
        return target(page, link)
                .map(target -> relative(onSite(page), onSite(target)) + (anchor < 0 ? "" : link.substring(anchor)))
                .orElse(link);
    }

    static String relative(Path from, Path to) {
        Path folder = from.getParent();
        return (folder == null ? to : folder.relativize(to)).toString();
    }

    static boolean isExternal(String link) {
        return link.startsWith("//") || link.matches("[a-zA-Z][a-zA-Z0-9+.-]*:.*");
    }
}
