package dev.holdfast.site;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * Checks a built site: links lead somewhere, no page has an id twice or a picture without a text, and no page loads anything from elsewhere. Nothing is fetched. Of the links that the
 * javadoc tool made itself the files are checked, not the anchors.
 */
final class SiteLinks {
    private static final Pattern LOADED_BY_STYLE = Pattern.compile("(?i)(@import|url\\()\\s*[\"']?(https?:|//)");

    private final Path site;
    private final Map<Path, Set<String>> anchors = new HashMap<>();
    private final List<String> faults = new ArrayList<>();

    private SiteLinks(Path site) {
        this.site = site.toAbsolutePath().normalize();
    }

    /** The faults of a site, each with its page; none if it is in order. */
    static List<String> faults(Path site) throws IOException {
        return new SiteLinks(site).check();
    }

    private List<String> check() throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(site)) {
            files = walk.filter(Files::isRegularFile).sorted().toList();
        }
        Map<Path, Document> pages = new HashMap<>();
        for (Path file : files) {
            if (file.toString().endsWith(".html")) {
                Document page = Jsoup.parse(file, "UTF-8");
                pages.put(file, page);
                anchors.put(
                        file,
                        page.select("[id], a[name]").stream()
                                .flatMap(element -> Stream.of(element.id(), element.attr("name")))
                                .collect(Collectors.toSet()));
            } else if (file.toString().endsWith(".css")
                    && LOADED_BY_STYLE.matcher(Files.readString(file)).find()) {
                faults.add(site.relativize(file) + " loads from elsewhere");
            }
        }
        for (Path file : files) {
            Document page = pages.get(file);
            if (page != null) {
                check(file, page);
            }
        }
        return List.copyOf(faults);
    }

    private void check(Path file, Document page) {
        for (Element element : page.select("[src], link[href], object[data], use[href]")) {
            String source = element.attr(element.hasAttr("src") ? "src" : element.hasAttr("data") ? "data" : "href");
            if (!Locations.isExternal(source)) {
                checkTarget(file, source);
            } else if (!source.startsWith("data:")) {
                faults.add(site.relativize(file) + " loads " + source);
            }
        }
        if (!file.startsWith(site.resolve("api"))) {
            checkIds(file, page);
        }
        for (Element style : page.select("style")) {
            if (LOADED_BY_STYLE.matcher(style.data()).find()) {
                faults.add(site.relativize(file) + " loads from elsewhere");
            }
        }
        for (Element link : page.select("a[href]")) {
            String href = link.attr("href");
            if (!Locations.isExternal(href)) {
                checkTarget(file, href);
            }
        }
    }

    private void checkIds(Path file, Document page) {
        Set<String> ids = new HashSet<>();
        for (Element element : page.select("[id]")) {
            if (!ids.add(element.id())) {
                faults.add(site.relativize(file) + " has the id " + element.id() + " twice");
            }
        }
        for (Element picture : page.select("img")) {
            if (picture.attr("alt").isBlank()) {
                faults.add(site.relativize(file) + " has a picture without a text: " + picture.attr("src"));
            }
        }
    }

    private void checkTarget(Path file, String link) {
        String[] parts = link.split("#", 2);
        String path = URLDecoder.decode(parts[0].replace("+", "%2B"), StandardCharsets.UTF_8);
        Path target = path.isEmpty() ? file : file.resolveSibling(path).normalize();
        boolean leads = target.startsWith(site) && Files.isRegularFile(target);
        boolean anchored = parts.length == 2 && !parts[1].isEmpty() && !file.startsWith(site.resolve("api"));
        if (leads && anchored && anchors.containsKey(target)) {
            Set<String> there = anchors.getOrDefault(target, Set.of());
            leads = there.contains(parts[1])
                    || there.contains(URLDecoder.decode(parts[1].replace("+", "%2B"), StandardCharsets.UTF_8));
        }
        if (!leads) {
            faults.add(site.relativize(file) + " links to " + link + ", which is not there");
        }
    }
}
