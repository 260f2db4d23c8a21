package dev.holdfast.site;

import java.nio.file.Path;
import java.util.List;

/**
 * A page of the site.
 *
 * @param source the file or folder of the repository that it shows
 * @param target its file on the site
 * @param title its title
 * @param html its content
 * @param sections its sections, for the search and the table of contents
 * @param links the files of the repository that it links to
 */
record Page(Path source, Path target, String title, String html, List<Section> sections, List<Path> links) {

    Page {
        sections = List.copyOf(sections);
        links = List.copyOf(links);
    }

    /**
     * What stands under a heading.
     *
     * @param level the heading's level
     * @param id the heading's anchor
     * @param heading the heading
     * @param text the text below it, without markup
     */
    record Section(int level, String id, String heading, String text) {}
}
