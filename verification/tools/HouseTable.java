import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Prints a row for each house of {@code verification/houses}, from the lines that the tests of houses have written to their modules'
 * target folders.
 *
 * <pre>java verification/tools/HouseTable.java MODULE…</pre>
 *
 * Ends with 1 if a case failed, a bystander was lost, or a test names a house that is not listed.
 */
final class HouseTable {
    /** One row. */
    private static final class Row {
        final Set<String> stores = new TreeSet<>();
        int cases;
        int failed;
        int held;
        int lost;
        long oldestMillis;
        long leaseMillis;

        void add(String[] line) {
            stores.add(line[1]);
            cases++;
            failed += line[2].equals("failed") ? 1 : 0;
            held += Integer.parseInt(line[3]);
            lost += Integer.parseInt(line[4]);
            long oldest = Long.parseLong(line[5]);
            long lease = Long.parseLong(line[6]);
            if (lease > 0 && (leaseMillis == 0 || oldest * leaseMillis > oldestMillis * lease)) {
                oldestMillis = oldest;
                leaseMillis = lease;
            }
        }

        String oldest() {
            return leaseMillis == 0 ? "-" : "%.1f s of %.1f s".formatted(oldestMillis / 1e3, leaseMillis / 1e3);
        }
    }

    public static void main(String[] modules) throws IOException {
        Map<String, Row> rows = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of("verification", "houses"))) {
            if (!line.isBlank() && !line.startsWith("#")) {
                rows.put(line.split("  +")[0], new Row());
            }
        }
        boolean bad = false;
        for (String[] line : lines(modules)) {
            Row row = rows.get(line[0]);
            if (row == null) {
                System.out.println("verify: verification/houses does not list the house of " + line[7] + ": " + line[0]);
                bad = true;
            } else {
                row.add(line);
            }
        }
        String format = "%-24s %6s %6s %10s %5s  %-18s %s%n";
        System.out.printf("%n" + format, "house", "cases", "failed", "bystanders", "lost", "oldest renewal", "stores");
        Row all = new Row();
        for (Map.Entry<String, Row> each : rows.entrySet()) {
            Row row = each.getValue();
            if (row.cases == 0) {
                System.out.printf("%-24s not judged%n", each.getKey());
                continue;
            }
            System.out.printf(format, each.getKey(), row.cases, row.failed, row.held, row.lost, row.oldest(),
                    String.join(" ", row.stores));
            all.cases += row.cases;
            all.failed += row.failed;
            all.held += row.held;
            all.lost += row.lost;
        }
        System.out.printf(format, "all", all.cases, all.failed, all.held, all.lost, "", "");
        System.exit(bad || all.failed + all.lost > 0 ? 1 : 0);
    }

    private static List<String[]> lines(String[] modules) throws IOException {
        List<String[]> lines = new ArrayList<>();
        for (String module : modules) {
            Path folder = Path.of(module, "target", "houses");
            if (!Files.isDirectory(folder)) {
                continue;
            }
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.sorted().toList()) {
                    Files.readAllLines(file).forEach(line -> lines.add(line.split("\t")));
                }
            }
        }
        return lines;
    }
}
