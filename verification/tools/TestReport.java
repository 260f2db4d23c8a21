import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Reads Surefire's reports and prints what {@code bin/verify} ends with: a row for each fixture of the contract, a row for
 * each module, the tests that failed, were skipped or passed only when run a second time, and the counts.
 *
 * <pre>java verification/tools/TestReport.java BUILD_STATUS MODULE…</pre>
 *
 * Ends with 1 if the build failed, a test failed, none ran, or one was skipped that {@code .ci/allowed-skips} does not list.
 */
final class TestReport {
    private final Map<String, Counts> modules = new TreeMap<>();
    private final Map<String, Counts> fixtures = new TreeMap<>();
    private final Set<String> failed = new TreeSet<>();
    private final Set<String> skipped = new TreeSet<>();
    private final Set<String> secondTries = new TreeSet<>();

    /** Counts of one row. */
    private static final class Counts {
        int passed;
        int failed;
        int skipped;
        double seconds;

        void add(int moreTests, int moreFailed, int moreSkipped, double moreSeconds) {
            passed += moreTests - moreFailed - moreSkipped;
            failed += moreFailed;
            skipped += moreSkipped;
            seconds += moreSeconds;
        }
    }

    public static void main(String[] args) throws IOException, XMLStreamException {
        TestReport report = new TestReport();
        List<String> names = List.of(args).subList(1, args.length);
        for (String module : names) {
            for (Path folder : reportFolders(module)) {
                report.read(module, folder);
            }
        }
        System.exit(report.print(names, Integer.parseInt(args[0])));
    }

    private static List<Path> reportFolders(String module) throws IOException {
        Path target = Path.of(module, "target");
        return Files.isDirectory(target) ? list(target, "surefire-reports.*") : List.of();
    }

    private static List<Path> list(Path folder, String pattern) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().matches(pattern)).sorted().toList();
        }
    }

    private void read(String module, Path folder) throws IOException, XMLStreamException {
        Map<String, String> fixtureOf = new TreeMap<>();
        for (Path output : list(folder, ".*ContractTest-output\\.txt")) {
            String test = output.getFileName().toString().replace("-output.txt", "");
            try (Stream<String> lines = Files.lines(output, StandardCharsets.UTF_8)) {
                lines.filter(line -> line.startsWith("fixture: "))
                        .findFirst()
                        .ifPresent(line -> fixtureOf.put(test, line.substring("fixture: ".length())));
            }
        }
        for (Path file : list(folder, "TEST-.*\\.xml")) {
            try (InputStream in = Files.newInputStream(file)) {
                XMLInputFactory factory = XMLInputFactory.newFactory();
                factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
                XMLStreamReader xml = factory.createXMLStreamReader(in);
                String test = "";
                while (xml.hasNext()) {
                    if (xml.next() == XMLStreamConstants.START_ELEMENT) {
                        switch (xml.getLocalName()) {
                            case "testsuite" -> count(module, fixtureOf, xml);
                            case "testcase" -> test = xml.getAttributeValue(null, "classname") + "#" + xml.getAttributeValue(null, "name");
                            case "skipped" -> skipped.add(test);
                            case "failure", "error" -> failed.add(module + ": " + test);
                            case "flakyFailure", "flakyError" -> secondTries.add(module + ": " + test);
                            default -> {}
                        }
                    }
                }
            }
        }
    }

    /** The contract's groups are nested classes of the class that has a fixture. */
    private void count(String module, Map<String, String> fixtureOf, XMLStreamReader suite) {
        int tests = number(suite, "tests");
        int bad = number(suite, "failures") + number(suite, "errors");
        int notRun = number(suite, "skipped");
        String time = suite.getAttributeValue(null, "time");
        double seconds = time == null ? 0 : Double.parseDouble(time.replace(",", ""));
        modules.computeIfAbsent(module, key -> new Counts()).add(tests, bad, notRun, seconds);
        String outermost = suite.getAttributeValue(null, "name").replaceFirst("\\$.*", "");
        String fixture = fixtureOf.get(outermost);
        if (fixture != null) {
            fixtures.computeIfAbsent("%-15s %-62s".formatted(module, fixture), key -> new Counts())
                    .add(tests, bad, notRun, seconds);
        }
    }

    private static int number(XMLStreamReader xml, String attribute) {
        String value = xml.getAttributeValue(null, attribute);
        return value == null ? 0 : Integer.parseInt(value);
    }

    private int print(List<String> names, int buildStatus) throws IOException {
        int status = buildStatus;
        if (!fixtures.isEmpty()) {
            System.out.printf("%n%-15s %-62s %7s %7s %7s %8s%n", "module", "fixture", "passed", "failed", "skipped", "seconds");
            fixtures.forEach((row, c) ->
                    System.out.printf("%s %7d %7d %7d %8.1f%n", row, c.passed, c.failed, c.skipped, c.seconds));
        }
        System.out.printf("%n%-15s %7s %7s %7s%n", "module", "passed", "failed", "skipped");
        Counts all = new Counts();
        for (String module : names) {
            Counts c = modules.get(module);
            if (c != null) {
                System.out.printf("%-15s %7d %7d %7d%n", module, c.passed, c.failed, c.skipped);
                all.add(c.passed + c.failed + c.skipped, c.failed, c.skipped, c.seconds);
            }
        }
        for (String test : unlisted(skipped)) {
            System.out.println("verify: skipped, and not listed in .ci/allowed-skips: " + test);
            status = 1;
        }
        if (!secondTries.isEmpty()) {
            System.out.println();
            secondTries.forEach(test -> System.out.println("verify: passed only when run a second time: " + test));
        }
        if (all.failed > 0) {
            System.out.println();
            failed.forEach(test -> System.out.println("verify: failed: " + test));
            status = 1;
        } else if (status != 0) {
            System.out.println("verify: the build failed; its error is above");
        } else if (all.passed == 0) {
            System.out.println("verify: no test ran");
            status = 1;
        }
        System.out.printf("%n%d passed, %d failed, %d skipped%n", all.passed, all.failed, all.skipped);
        return status;
    }

    private static List<String> unlisted(Set<String> skipped) throws IOException {
        List<String> allowed = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(".ci", "allowed-skips"))) {
            if (!line.isBlank() && !line.startsWith("#")) {
                allowed.add(line);
            }
        }
        return skipped.stream()
                .filter(test -> allowed.stream().noneMatch(line -> line.contains(test)))
                .toList();
    }
}
