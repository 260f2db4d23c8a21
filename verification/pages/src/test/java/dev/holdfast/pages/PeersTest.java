package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the pages say about other libraries comes from one file, in which each cell has version, date and source. */
final class PeersTest {
    private static final Path DATA = Pages.ROOT.resolve("docs/peers.tsv");

    /**
     * A statement about one library.
     *
     * @param text what the table says
     * @param version of the library
     * @param date when it was looked up
     * @param source where
     */
    private record Cell(String text, String version, LocalDate date, String source) {}

    /** By row, then by library, in the order of the file. */
    private static Map<String, Map<String, Cell>> cells() throws IOException {
        Map<String, Map<String, Cell>> rows = new LinkedHashMap<>();
        for (String line : Files.readAllLines(DATA)) {
            if (line.startsWith("#")) {
                continue;
            }
            String[] fields = line.split("\t", -1);
            assertThat(fields).as("fields of '%s'", line).hasSize(6).doesNotContain("");
            rows.computeIfAbsent(fields[0], any -> new LinkedHashMap<>())
                    .put(fields[1], new Cell(fields[2], fields[3], LocalDate.parse(fields[4]), fields[5]));
        }
        return rows;
    }

    /** The rows of a page's table by their first cells, without links. */
    private static Map<String, List<String>> table(String page) {
        Map<String, List<String>> rows = new LinkedHashMap<>();
        Pages.text(Pages.ROOT.resolve(page))
                .lines()
                .filter(line -> line.startsWith("| "))
                .forEach(line -> {
                    List<String> row = new ArrayList<>();
                    for (String cell : line.substring(1, line.lastIndexOf('|')).split("\\|")) {
                        row.add(cell.strip().replaceAll("\\[([^]]*)](?:\\([^)]*\\))?", "$1"));
                    }
                    rows.put(row.get(0), row.subList(1, row.size()));
                });
        return rows;
    }

    @Test
    void table_hasEveryCellOfTheData() throws IOException {
        Map<String, List<String>> table = table("docs/peers.md");
        cells().forEach((row, cells) -> assertThat(table.get(row))
                .as("row '%s' of docs/peers.md", row)
                .containsExactlyElementsOf(
                        cells.values().stream().map(Cell::text).toList()));
    }

    @Test
    void readme_hasFiveRowsOfTheData() throws IOException {
        Map<String, List<String>> table = table("README.md");
        Map<String, Map<String, Cell>> data = cells();
        List<String> shown = data.keySet().stream().filter(table::containsKey).toList();
        assertThat(shown).hasSize(5);
        for (String row : shown) {
            assertThat(table.get(row))
                    .as("row '%s' of the README", row)
                    .containsExactlyElementsOf(
                            data.get(row).values().stream().map(Cell::text).toList());
        }
    }

    @Test
    void versions_areThoseThatThePageNames() throws IOException {
        String page = Pages.text(Pages.ROOT.resolve("docs/peers.md"));
        cells().values()
                .forEach(row -> row.forEach((library, cell) -> {
                    if (!library.equals("Holdfast")) {
                        assertThat(page).contains(library + " " + cell.version());
                    }
                }));
    }
}
