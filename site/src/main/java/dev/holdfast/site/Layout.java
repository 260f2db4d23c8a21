package dev.holdfast.site;

import dev.holdfast.site.Page.Section;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Element;

/**
 * What stands around the content of every page. The pages by group are those of two sections of README.md: its tasks, and the last
 * one. Immutable.
 */
final class Layout {
    private final String template;
    private static final String TASKS = "what-you-can-do-with-it";

    private final Map<Path, String> titles = new HashMap<>();
    private final Element tasks;
    private final Element groups;
    private final boolean api;

    /**
     * Takes the groups of pages from the first page.
     *
     * @param template the page with places to fill in
     * @param pages all pages, that of README.md first
     * @param api whether the site has the Javadoc
     */
    Layout(String template, List<Page> pages, boolean api) {
        this.template = template;
        this.api = api;
        pages.forEach(page -> titles.put(page.target(), page.title().replaceFirst(":.*", "")));
        Page first = pages.get(0);
        List<Section> sections = first.sections();
        String last = sections.get(sections.size() - 1).id();
        this.tasks = list(first, TASKS);
        this.groups = list(first, last);
    }

    private static Element list(Page page, String section) {
        Element list = Jsoup.parseBodyFragment(page.html())
                .select("[id=" + section + "] ~ ul")
                .first();
        if (list == null) {
            throw new IllegalStateException("README.md has no list of pages in its section " + section);
        }
        return list;
    }

    String around(Page page) {
        String root = root(page.target());
        return template.replace("{title}", FilePages.escape(page.title()))
                .replace("{root}", root)
                .replace("{api}", api ? "<a href=\"" + root + "api/index.html\">Javadoc</a>" : "")
                .replace(
                        "{mermaid}",
                        page.html().contains("language-mermaid")
                                ? "<script defer src=\"" + root + "assets/mermaid.min.js\"></script>"
                                : "")
                .replace(
                        "{highlight}",
                        page.html().matches("(?s).*<code class=\"language-(?!mermaid).*")
                                ? "<script defer src=\"" + root + "assets/highlight.min.js\"></script>"
                                : "")
                .replace("{pages}", pages(page))
                .replace("{contents}", contents(page))
                .replace("{content}", page.html());
    }

    /** The way from a page to the site's first folder: empty, or {@code ../} for each folder. */
    static String root(Path target) {
        return "../".repeat(target.getNameCount() - 1);
    }

    /** The groups of pages, with links relative to this page. */
    private String pages(Page page) {
        StringBuilder html = new StringBuilder(group("Tasks", tasks, page));
        for (Element group : groups.children()) {
            Element name = group.selectFirst("strong");
            html.append(group(name == null ? "" : name.text(), group, page));
        }
        return html.toString();
    }

    /** The pages that an element links to, by their titles: the text of a link may need the sentence around it. */
    private String group(String name, Element group, Page page) {
        StringBuilder html = new StringBuilder();
        html.append("<h2>").append(FilePages.escape(name)).append("</h2>\n<ul>\n");
        Set<Path> listed = new HashSet<>();
        for (Element link : group.select("a")) {
            Path target = Path.of(link.attr("href").replaceFirst("#.*", ""));
            if (Locations.isExternal(link.attr("href")) || !listed.add(target)) {
                continue;
            }
            html.append("<li><a href=\"")
                    .append(Locations.relative(page.target(), target))
                    .append(target.equals(page.target()) ? "\" aria-current=\"page\">" : "\">")
                    .append(FilePages.escape(titles.getOrDefault(target, link.text())))
                    .append("</a></li>\n");
        }
        return html.append("</ul>\n").toString();
    }

    /** Links to the page's sections; nothing on a short page. */
    private static String contents(Page page) {
        List<Section> sections = page.sections().stream()
                .filter(section -> section.level() == 2 || section.level() == 3)
                .toList();
        if (sections.size() < 3 || page.target().equals(Locations.FIRST_PAGE)) {
            return "";
        }
        return sections.stream()
                .map(section -> "<li class=\"level%d\"><a href=\"#%s\">%s</a></li>\n"
                        .formatted(section.level(), section.id(), FilePages.escape(section.heading())))
                .collect(Collectors.joining("", "<h2>On this page</h2>\n<ul>\n", "</ul>\n"));
    }
}
