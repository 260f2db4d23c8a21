package dev.holdfast.site;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Makes a site of README.md and of everything that can be reached from it by links: pages, pictures, sources. The site's first
 * page is docs/README.md. The pages need no server and load nothing from elsewhere. Not thread-safe.
 */
public final class Site {
    private static final String LUNR = "lunr.min.js";
    private static final String HIGHLIGHT = "highlight.min.js";
    private static final String MERMAID = "mermaid.min.js";

    private final Path root;
    private final Path output;
    private final Locations locations;
    private final MarkdownPages markdown;
    private final FilePages files;
    private final List<Path> pictures = new ArrayList<>();

    private Site(Path root, Path output) {
        this.root = root;
        this.output = output;
        this.locations = new Locations(root);
        this.markdown = new MarkdownPages(root, locations);
        this.files = new FilePages(root, locations);
    }

    /**
     * Makes the site and checks it.
     *
     * @param arguments the repository, and the folder for the site, which is emptied first
     * @throws IOException if a file cannot be read or written
     */
    public static void main(String[] arguments) throws IOException {
        Path output = Path.of(arguments[1]).toAbsolutePath().normalize();
        int pages = build(Path.of(arguments[0]).toAbsolutePath().normalize(), output, true);
        List<String> faults = SiteLinks.faults(output);
        faults.forEach(System.err::println);
        System.out.println("site: " + pages + " pages and the Javadoc; " + faults.size() + " faults; open "
                + output.resolve("index.html"));
        System.exit(faults.isEmpty() ? 0 : 1);
    }

    /**
     * Makes the site.
     *
     * @param root the repository
     * @param output the folder for the site; emptied first, if it has a site in it
     * @param api whether to make the Javadoc, which takes longer than all else
     * @return the number of pages
     * @throws IOException if a file cannot be read or written
     * @throws IllegalStateException if the folder has something else in it, or Javadoc fails
     */
    static int build(Path root, Path output, boolean api) throws IOException {
        return new Site(root, output).build(api);
    }

    private int build(boolean api) throws IOException {
        empty(output);
        List<Page> pages = pages();
        Layout layout = new Layout(resource("page.html"), pages, api);
        for (Page page : pages) {
            write(page.target(), layout.around(page));
        }
        for (Path picture : pictures) {
            write(picture, Files.readString(root.resolve(picture)));
        }
        write(Path.of("assets/site.css"), resource("site.css"));
        write(Path.of("assets/site.js"), resource("site.js"));
        write(Path.of("assets/search-index.js"), "window.searchIndex = " + SearchIndex.json(pages) + ";\n");
        write(Path.of("assets", LUNR), webjar("org.webjars.npm", "lunr", LUNR));
        write(Path.of("assets", MERMAID), webjar("org.webjars.npm", "mermaid", MERMAID));
        write(Path.of("assets", HIGHLIGHT), webjar("org.webjars", "highlightjs", HIGHLIGHT));
        if (api) {
            Javadoc.write(root, output.resolve("api"));
        }
        return pages.size();
    }

    /** All pages, README.md first. */
    private List<Page> pages() throws IOException {
        List<Page> pages = new ArrayList<>();
        Set<Path> seen = new HashSet<>();
        Deque<Path> next = new ArrayDeque<>(List.of(Locations.README));
        while (!next.isEmpty()) {
            Path source = next.removeFirst();
            if (!seen.add(source)) {
                continue;
            }
            if (Locations.isPicture(source)) {
                pictures.add(source);
            } else {
                Page page = Locations.isPage(source) ? markdown.read(source) : files.read(source);
                pages.add(page);
                next.addAll(page.links());
            }
        }
        return pages;
    }

    private void write(Path target, String text) throws IOException {
        Path file = output.resolve(target);
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.writeString(file, text);
    }

    private static String resource(String name) throws IOException {
        return read("/dev/holdfast/site/" + name);
    }

    /** A script from its jar, in the version of the build. */
    private static String webjar(String group, String name, String file) throws IOException {
        String properties = read("/META-INF/maven/" + group + "/" + name + "/pom.properties");
        String version = properties
                .lines()
                .filter(line -> line.startsWith("version="))
                .map(line -> line.substring("version=".length()).strip())
                .findFirst()
                .orElseThrow();
        String folder = "/META-INF/resources/webjars/" + name + "/" + version + "/";
        return read(folder + (name.equals("mermaid") ? "dist/" : "") + file);
    }

    private static String read(String resource) throws IOException {
        try (InputStream in = Site.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("not on the class path: " + resource);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Removes an earlier site, and nothing else. */
    private static void empty(Path folder) throws IOException {
        if (Files.exists(folder)) {
            boolean ours;
            List<Path> all;
            try (Stream<Path> walk = Files.walk(folder)) {
                all = walk.sorted(Comparator.reverseOrder()).toList();
                ours = all.size() == 1 || Files.exists(folder.resolve("assets/search-index.js"));
            }
            if (!ours) {
                throw new IllegalStateException(folder + " has something else in it than a site");
            }
            for (Path file : all) {
                Files.delete(file);
            }
        }
        Files.createDirectories(folder);
    }
}
