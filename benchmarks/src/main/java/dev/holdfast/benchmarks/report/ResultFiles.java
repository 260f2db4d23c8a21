package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.candidate.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes what a run found: CSV with all figures, SVG charts, and one page of tables a store. */
public final class ResultFiles {
    private final Path folder;
    private final Results results;

    /**
     * A table and a chart.
     *
     * @param id the scenario's
     * @param title the scenario's title
     * @param main the figure to compare by
     */
    public record Part(String id, String title, Metric main) {}

    /**
     * Files in a folder, which is made if it is not there.
     *
     * @param folder where
     * @param results of the run
     * @throws IOException if the folder cannot be made
     */
    public ResultFiles(Path folder, Results results) throws IOException {
        this.folder = Files.createDirectories(folder);
        this.results = results;
    }

    /**
     * Writes the files of one store.
     *
     * @param store its name
     * @param parts of the page; those without figures are left out
     * @param footnotes below the tables
     * @throws IOException if they cannot be written
     */
    public void write(String store, List<Part> parts, List<String> footnotes) throws IOException {
        StringBuilder page = new StringBuilder("# Results: " + store + "\n");
        for (Part part : parts) {
            if (results.candidates(store, part.id()).isEmpty()) {
                continue;
            }
            page.append("\n## (")
                    .append(part.id())
                    .append(") ")
                    .append(part.title())
                    .append("\n\n");
            String chart = store + "-" + part.id() + ".svg";
            Files.writeString(folder.resolve(chart), chart(store, part));
            page.append("![")
                    .append(part.main().title())
                    .append("](")
                    .append(chart)
                    .append(")\n\n");
            page.append(
                    Tables.candidates(results, store, part.id(), part.main()).markdown());
        }
        page.append("\n## Aims\n\n").append(Tables.reach(results, store).markdown());
        List<Results.Failure> failures = results.failures().stream()
                .filter(failure -> failure.store().equals(store))
                .toList();
        if (!failures.isEmpty()) {
            page.append("\n## Failed\n\n");
            failures.forEach(failure -> page.append("- (")
                    .append(failure.scenario())
                    .append(") ")
                    .append(failure.candidate())
                    .append(": ")
                    .append(failure.reason().lines().findFirst().orElse(""))
                    .append('\n'));
        }
        page.append('\n');
        footnotes.forEach(note -> page.append("- ").append(note).append('\n'));
        Files.writeString(folder.resolve(store + ".md"), page);
        Files.writeString(
                folder.resolve(store + ".csv"),
                Csv.of(results.figures().stream()
                        .filter(figure -> figure.store().equals(store))
                        .toList()));
    }

    private String chart(String store, Part part) {
        List<BarChart.Bar> bars = new ArrayList<>();
        for (String name : results.candidates(store, part.id())) {
            double value = results.median(store, part.id(), name, part.main());
            if (!Double.isNaN(value)) {
                bars.add(new BarChart.Bar(
                        ChartText.candidate(name), value, part.main().format(value), colour(results.role(name))));
            }
        }
        return BarChart.svg(ChartText.title(store, part), ChartText.unit(part.main()), bars);
    }

    private static String colour(Role role) {
        return switch (role) {
            case FLOOR -> "#777777";
            case HOLDFAST -> "#1b7837";
            case PEER -> "#2166ac";
            case REFERENCE -> "#c0c0c0";
        };
    }
}
