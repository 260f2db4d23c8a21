package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What the bill of materials provides: all modules, and one Netty under them. */
class BomTest {
    private static final Path ROOT = Path.of("../..");

    @Test
    void netty_isTheOneThatIsTested() throws IOException {
        assertThat(property("lock-bom/pom.xml", "netty.version"))
                .as("lock-bom is published without its parent, so it says the version itself")
                .isEqualTo(property("pom.xml", "netty.version"));
    }

    @Test
    void netty_onThisClassPath_isOneVersion() {
        List<String> jars = List.of(System.getProperty("java.class.path").split(File.pathSeparator));

        TreeSet<String> versions = jars.stream()
                .map(jar -> Pattern.compile("netty-(?!tcnative)[a-z0-9-]+?-(\\d[\\w.]*?)(-[a-z]+-\\w+)?\\.jar$")
                        .matcher(jar))
                .filter(Matcher::find)
                .map(match -> match.group(1))
                .collect(Collectors.toCollection(TreeSet::new));

        assertThat(versions).as("Netty under four backends").hasSize(1);
    }

    @Test
    void modules_areAllThere() throws IOException {
        String bom = Files.readString(ROOT.resolve("lock-bom/pom.xml"));
        Matcher modules = Pattern.compile("<module>((?:integrations/)?lock-(?!bom|cli)[\\w-]+)</module>")
                .matcher(Files.readString(ROOT.resolve("pom.xml")));

        assertThat(modules.results().map(module -> module.group(1)).toList())
                .isNotEmpty()
                .allSatisfy(module -> assertThat(bom).contains("<artifactId>" + artifact(module) + "</artifactId>"));
    }

    /** The starter has the name that Boot's convention gives it; its folder does not. */
    private static String artifact(String module) throws IOException {
        String pom =
                Files.readString(ROOT.resolve(module).resolve("pom.xml")).replaceAll("(?s)<parent>.*?</parent>", "");
        Matcher found = Pattern.compile("<artifactId>([^<]+)<").matcher(pom);
        assertThat(found.find()).as(module).isTrue();
        return found.group(1);
    }

    @Test
    void install_installsWhatTheBillOfMaterialsNames() throws IOException, InterruptedException {
        Process list = new ProcessBuilder("bash", "../../bin/install", "--list").start();
        List<String> installed = new ArrayList<>();
        for (String module : new String(list.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList()) {
            installed.add(artifact(module));
        }
        String bom = Files.readString(ROOT.resolve("lock-bom/pom.xml"));
        List<String> named = Pattern.compile(
                        "<artifactId>(lock-(?!bom)[\\w-]+|holdfast-spring-boot-starter)</artifactId>")
                .matcher(bom)
                .results()
                .map(module -> module.group(1))
                .toList();

        assertThat(list.waitFor()).isZero();
        assertThat(installed).contains("lock-bom").containsAll(named);
    }

    private static String property(String pom, String name) throws IOException {
        Matcher found =
                Pattern.compile("<" + Pattern.quote(name) + ">([^<]+)<").matcher(Files.readString(ROOT.resolve(pom)));
        assertThat(found.find()).as("%s in %s", name, pom).isTrue();
        return found.group(1);
    }
}
