package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class OutputTest {
    private final Results results = new Results();

    @Test
    void csv_hasALineForEachFigure() {
        Some.HOLDFAST.measured(results, "a", Metric.OPS, 1.5, 2);

        assertThat(Csv.of(results.figures())).isEqualTo("""
                        store,scenario,candidate,round,metric,value
                        redis,a,holdfast,1,acq/s,1.5
                        redis,a,holdfast,2,acq/s,2.0
                        """);
    }

    @Test
    void csv_quotesWhatNeedsIt() {
        new Some("a,\"b\"", dev.holdfast.benchmarks.candidate.Role.PEER).measured(results, "a", Metric.OPS, 1);

        assertThat(Csv.of(results.figures())).contains("redis,a,\"a,\"\"b\"\"\",1,acq/s,1.0");
    }

    @Test
    void table_comparesWithTheFloorIfThereIsOne() {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100);
        Some.HOLDFAST.measured(results, "a", Metric.PAIR_P50, 107);
        Some.FAST_PEER.measured(results, "a", Metric.OPS, 5);

        assertThat(Tables.candidates(results, "redis", "a", Metric.PAIR_P50).markdown())
                .isEqualTo("""
                        | candidate | acq/s | pair p50 µs | to raw |
                        |---|--:|--:|--:|
                        | raw | – | 100.0 | 1.00 |
                        | holdfast | – | 107.0 | 1.07 |
                        | fast | 5 | – | – |
                        """);
    }

    @Test
    void table_comparesWithTheBestPeerOtherwise() {
        Some.HOLDFAST.measured(results, "c", Metric.OPS, 40);
        Some.FAST_PEER.measured(results, "c", Metric.OPS, 10);
        Some.SLOW_PEER.measured(results, "c", Metric.OPS, 5);

        assertThat(Tables.candidates(results, "redis", "c", Metric.OPS).text()).isEqualTo("""
                          candidate  acq/s  to best peer
                          holdfast      40          4.00
                          fast          10          1.00
                          slow           5          0.50
                        """);
    }

    @Test
    void chart_isXml() throws Exception {
        String svg = BarChart.svg(
                "a < b & \"c\"",
                "per <second>",
                List.of(new BarChart.Bar("<x>", 10, "10", "#000"), new BarChart.Bar("y", 0, "0", "#fff")));

        assertThat(DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new InputSource(new StringReader(svg)))
                        .getElementsByTagName("rect")
                        .getLength())
                .isEqualTo(3);
    }

    /** A character of 13 px is estimated at 7 px, one of the bold title at 8.5 px. */
    @Test
    void chartsOfTheResults_areReadableAndNotCut() throws Exception {
        List<Path> charts;
        try (Stream<Path> files = Files.list(Path.of("results"))) {
            charts = files.filter(file -> file.toString().endsWith(".svg")).toList();
        }
        assertThat(charts).hasSizeGreaterThan(100).allSatisfy(chart -> {
            Element svg = DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(chart.toFile())
                    .getDocumentElement();
            assertThat(svg.getAttribute("role")).isEqualTo("img");
            assertThat(svg.getElementsByTagName("title").getLength()).isEqualTo(1);
            NodeList texts = svg.getElementsByTagName("text");
            for (int i = 0; i < texts.getLength(); i++) {
                Element text = (Element) texts.item(i);
                double width = text.getTextContent().length() * (text.hasAttribute("font-weight") ? 8.5 : 7);
                double x = Double.parseDouble(text.getAttribute("x"));
                assertThat(text.getTextContent())
                        .doesNotContain("ref-", "acq/s")
                        .doesNotStartWith("holdfast");
                if (text.hasAttribute("text-anchor")) {
                    assertThat(width).as(text.getTextContent()).isLessThan(x);
                } else {
                    assertThat(x + width).as(text.getTextContent()).isLessThan(760);
                }
            }
        });
    }

    @Test
    void files_areWritten(@TempDir Path folder) throws Exception {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100);
        results.fail("redis", "c", Some.FAST_PEER, "no mutual exclusion\nmore");

        new ResultFiles(folder, results)
                .write(
                        "redis",
                        List.of(
                                new ResultFiles.Part("a", "pair", Metric.PAIR_P50),
                                new ResultFiles.Part("b", "names", Metric.OPS)),
                        List.of("a footnote"));

        assertThat(Files.readString(folder.resolve("redis.md")))
                .contains("## (a)", "| raw | 100.0 | 1.00 |", "- (c) fast: no mutual exclusion\n", "- a footnote")
                .doesNotContain("## (b)", "more");
        assertThat(folder.resolve("redis.csv")).exists();
        assertThat(folder.resolve("redis-a.svg")).exists();
    }
}
