package dev.holdfast.site;

import dev.holdfast.site.Page.Section;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/** What stands around the content of every page. The pages by group are those of the last section of README.md. Immutable. */
final class Layout {
    private static final Path FIRST_PAGE = Path.of("index.html");

    private final String template;
    private final Element groups;
    private final boolean api;

    /**
     * Takes the groups of pages from the first page.
     *
     * @param template the page with places to fill in
     * @param first the page of README.md
     * @param api whether the site has the Javadoc
     */
    Layout(String template, Page first, boolean api) {
        this.template = template;
        this.api = api;
        List<Section> sections = first.sections();
        String last = sections.get(sections.size() - 1).id();
        Element list = Jsoup.parseBodyFragment(first.html())
                .select("[id=" + last + "] ~ ul")
                .first();
        if (list == null) {
            throw new IllegalStateException("the last section of README.md has no list of pages");
        }
        this.groups = list;
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
        StringBuilder html = new StringBuilder();
        for (Element group : groups.children()) {
            Element name = group.selectFirst("strong");
            html.append("<h2>").append(name == null ? "" : name.html()).append("</h2>\n<ul>\n");
            for (Element link : group.select("a")) {
                Path target = Path.of(link.attr("href").replaceFirst("#.*", ""));
                Document item = Jsoup.parseBodyFragment("<li><a></a></li>");
                Element anchor = item.select("a").first();
                if (anchor == null || Locations.isExternal(link.attr("href"))) {
                    continue;
                }
                anchor.attr("href", Locations.relative(page.target(), target)).html(link.html());
                if (target.equals(page.target())) {
                    anchor.attr("aria-current", "page");
                }
                html.append(item.body().html()).append('\n');
            }
            html.append("</ul>\n");
        }
        return html.toString();
    }

    /** Links to the page's sections; nothing on a short page. */
    private static String contents(Page page) {
        List<Section> sections = page.sections().stream()
                .filter(section -> section.level() == 2 || section.level() == 3)
                .toList();
        if (sections.size() < 3 || page.target().equals(FIRST_PAGE)) {
            return "";
        }
        return sections.stream()
                .map(section -> "<li class=\"level%d\"><a href=\"#%s\">%s</a></li>\n"
                        .formatted(section.level(), section.id(), FilePages.escape(section.heading())))
                .collect(Collectors.joining("", "<h2>On this page</h2>\n<ul>\n", "</ul>\n"));
    }
}
