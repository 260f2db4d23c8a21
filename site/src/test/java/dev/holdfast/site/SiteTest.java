package dev.holdfast.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The site of this repository's documentation, as bin/site makes it. */
class SiteTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path SITE =
            Path.of("target", "site-of-the-test").toAbsolutePath().normalize();

    @BeforeAll
    static void build() throws IOException {
        Site.build(ROOT, SITE, true);
    }

    @Test
    void links_leadSomewhere_andNothingIsLoadedFromElsewhere() throws IOException {
        assertThat(SiteLinks.faults(SITE)).isEmpty();
    }

    @Test
    void everyPageOfTheDocumentation_canBeReached() throws IOException {
        try (Stream<Path> pages = Files.walk(ROOT.resolve("docs"))) {
            assertThat(pages.filter(Locations::isPage))
                    .hasSizeGreaterThan(30)
                    .allSatisfy(page -> assertThat(SITE.resolve(new Locations(ROOT).onSite(ROOT.relativize(page))))
                            .exists());
        }
    }

    @Test
    void firstPage_isTheOneThatSaysWhereToBegin() throws IOException {
        Document page = Jsoup.parse(SITE.resolve("index.html"), "UTF-8");

        assertThat(page.select("h1").text()).isEqualTo("Where to begin");
        assertThat(page.select("main a").eachAttr("href"))
                .contains("readme.html#a-lock-in-ten-lines", "docs/plain-java.html", "docs/decisions/index.html");
        assertThat(Jsoup.parse(SITE.resolve("docs/faq.html"), "UTF-8")
                        .select("header .home, nav a:contains(Where to begin)")
                        .eachAttr("href"))
                .containsExactly("../index.html", "../index.html");
        assertThat(Jsoup.parse(SITE.resolve("readme.html"), "UTF-8")
                        .select("h1")
                        .text())
                .isEqualTo("Holdfast");
    }

    @Test
    void everyGroupOfTheReadme_isOnEveryPage() throws IOException {
        Document page = Jsoup.parse(SITE.resolve("docs/decisions/index.html"), "UTF-8");

        assertThat(page.select("nav h2").eachText()).startsWith("Tasks").contains("Stores", "In production");
        assertThat(page.select("nav a[href=../losing-a-lock.html], nav a[href=../run-once.html]")
                        .eachText())
                .as("titles, not the words of a sentence")
                .contains("Run a job once");
        assertThat(page.select("nav a[href=../redis.html]")).hasSize(1);
        assertThat(page.select("nav a[aria-current]").eachAttr("href")).containsExactly("index.html");
    }

    @Test
    void headings_canBeFound() throws IOException {
        String script = Files.readString(SITE.resolve("assets/search-index.js"));
        String json = script.substring(script.indexOf('['), script.lastIndexOf(']') + 1);

        assertThat(List.of(new Gson().fromJson(json, String[][].class)))
                .anySatisfy(entry -> assertThat(List.of(entry).subList(0, 3))
                        .containsExactly("docs/jdbc.html#the-table", "Locks on a database", "The table"))
                .allSatisfy(entry -> assertThat(List.of(entry)).hasSize(6));
    }

    @Test
    void search_findsWordsThatMeanTheSame() {
        assertThat(SearchIndex.also("Time-outs and other numbers").split(" "))
                .contains("timeout", "timeouts", "deadline");
        assertThat(SearchIndex.also("What loses a lock").split(" ")).contains("lost", "losses");
        assertThat(SearchIndex.also("Nothing of the kind")).isEmpty();
    }

    @Test
    void code_hasColours_andOtherPagesNoScriptForThem() throws IOException {
        assertThat(Files.readString(SITE.resolve("docs/plain-java.html"))).contains("highlight.min.js");
        assertThat(Files.readString(SITE.resolve("docs/peers.html"))).doesNotContain("highlight.min.js");
        assertThat(SITE.resolve("assets/highlight.min.js")).isNotEmptyFile();
    }

    @Test
    void diagrams_haveTheirScript_andOtherPagesDoNot() throws IOException {
        assertThat(Jsoup.parse(SITE.resolve("docs/guarded-write.html"), "UTF-8")
                        .select("code.language-mermaid, script[src$=mermaid.min.js]"))
                .hasSize(2);
        assertThat(Files.readString(SITE.resolve("docs/redis.html"))).doesNotContain("mermaid");
        assertThat(SITE.resolve("assets/mermaid.min.js")).isNotEmptyFile();
    }

    @Test
    void javadoc_hasTheModulesBesideEachOther() {
        assertThat(List.of("LockClient.html", "redis/RedisLocks.html", "spring/Locked.html"))
                .allSatisfy(
                        type -> assertThat(SITE.resolve("api/dev/holdfast/lock").resolve(type))
                                .exists());
    }

    @Test
    void faults_areFound(@TempDir Path folder) throws IOException {
        Files.writeString(folder.resolve("index.html"), """
                <a href="#here">good</a><p id="here"><b id="here"></b><a href="#nowhere">a</a><a href="none.html">b</a><a href="../out.html">c</a>
                <a href="https://example.org/">good</a><script src="https://example.org/x.js"></script>
                <img src="//example.org/x.png" alt="x"><img src="data:," alt=" "><style>@import url(https://example.org/x.css)</style>
                """);
        Files.writeString(folder.resolve("x.css"), "a { background: url('https://example.org/x.png') }");

        assertThat(SiteLinks.faults(folder))
                .containsExactlyInAnyOrder(
                        "index.html has the id here twice",
                        "index.html has a picture without a text: data:,",
                        "index.html links to #nowhere, which is not there",
                        "index.html links to none.html, which is not there",
                        "index.html links to ../out.html, which is not there",
                        "index.html loads https://example.org/x.js",
                        "index.html loads //example.org/x.png",
                        "index.html loads from elsewhere",
                        "x.css loads from elsewhere");
    }

    @Test
    void folderWithSomethingElse_isNotEmptied(@TempDir Path folder) throws IOException {
        Path precious = Files.writeString(folder.resolve("precious.txt"), "x");

        assertThatThrownBy(() -> Site.build(ROOT, folder, false)).hasMessageContaining("something else");
        assertThat(precious).exists();
    }
}
