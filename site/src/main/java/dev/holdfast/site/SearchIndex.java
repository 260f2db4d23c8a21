package dev.holdfast.site;

import com.google.gson.Gson;
import dev.holdfast.site.Page.Section;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The index of the search: a line for each section of the Markdown pages. */
final class SearchIndex {
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+");
    private static final Pattern COMPOUND = Pattern.compile("\\p{L}+(-\\p{L}+)+");

    /** Words that readers use for each other, and whose stems differ. */
    private static final List<Set<String>> FAMILIES = List.of(
            Set.of("lost", "lose", "loses", "losing", "loss", "losses"),
            Set.of("elect", "elected", "election", "elections", "leader", "leaders"),
            Set.of("hold", "holds", "held", "holder", "holders"),
            Set.of("deadline", "deadlines", "timeout", "timeouts"),
            Set.of("job", "jobs", "cron", "schedule", "scheduled"),
            Set.of("semaphore", "semaphores", "permit", "permits"),
            Set.of("certificate", "certificates", "ssl", "tls"));

    private SearchIndex() {}

    /** Entries of address, title, heading, text, and the words that mean the same: for title and heading, and for the text. */
    static String json(List<Page> pages) {
        List<List<String>> entries = new ArrayList<>();
        for (Page page : pages) {
            for (Section section : page.sections()) {
                entries.add(List.of(
                        page.target() + "#" + section.id(),
                        page.title(),
                        section.heading(),
                        section.text(),
                        also(page.title() + ' ' + section.heading()),
                        also(section.text())));
            }
        }
        return new Gson().toJson(entries);
    }

    /** Compounds without their hyphens ({@code time-out} as {@code timeout}), and the families of words. */
    static String also(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        Set<String> words = new TreeSet<>();
        WORD.matcher(lower).results().forEach(word -> words.add(word.group()));
        Set<String> also = new TreeSet<>();
        Matcher compound = COMPOUND.matcher(lower);
        while (compound.find()) {
            also.add(compound.group().replace("-", ""));
        }
        words.addAll(also);
        FAMILIES.stream()
                .filter(family -> family.stream().anyMatch(words::contains))
                .forEach(also::addAll);
        return String.join(" ", also);
    }
}
