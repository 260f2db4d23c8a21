package dev.holdfast.lock.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The explanation of incompatible libraries: the required version, the one found, and the bill of materials to import. */
class LibrariesTest {
    private static final NoClassDefFoundError MISSING =
            new NoClassDefFoundError("io/netty/channel/epoll/EpollIoHandler");

    @TempDir
    private Path folder;

    @Test
    void another_isNamedWithBothVersions() throws IOException {
        needs("io.netty\\:netty-common=4.2.20", "io.netty\\:netty-handler=4.2.20", "org.slf4j\\:slf4j-api=2.0.20");
        has("io.netty", "netty-common", "4.2.20");
        has("io.netty", "netty-handler", "4.1.130");
        has("org.slf4j", "slf4j-api", "1.7.36");

        Libraries.Explanation why = explain();

        assertThat(why.observation())
                .contains("io/netty/channel/epoll/EpollIoHandler")
                .endsWith(": io.netty 4.2.20 is needed, 4.1.130 was found [netty-handler]");
        assertThat(why.remedy()).contains("dev.holdfast:lock-bom, or io.netty:netty-bom 4.2.20,");
    }

    @Test
    void missing_isNamed_unlessItMayBe() throws IOException {
        needs("io.netty\\:netty-common=4.2.20", "io.netty\\:netty-transport-classes-epoll?=4.2.20");

        assertThat(explain().observation()).endsWith("io.netty 4.2.20 is needed, none was found [netty-common]");
    }

    @Test
    void ofAnotherGroup_isNamedIfNothingElseDiffers() throws IOException {
        needs("io.netty\\:netty-common=4.2.20", "io.lettuce\\:lettuce-core=7.7.0");
        has("io.netty", "netty-common", "4.2.20");
        has("io.lettuce", "lettuce-core", "6.0.0");

        assertThat(explain().observation()).endsWith("io.lettuce 7.7.0 is needed, 6.0.0 was found [lettuce-core]");
        assertThat(explain().remedy()).doesNotContain("netty-bom");
    }

    @Test
    void nothingDiffers_pointsToTheDependencies() throws IOException {
        needs("io.netty\\:netty-common=4.2.20");
        has("io.netty", "netty-common", "4.2.20");

        assertThat(explain().toString()).contains("EpollIoHandler").endsWith("docs/compatibility.md");
    }

    @Test
    void circleOfCauses_ends() throws IOException {
        needs("io.lettuce\\:lettuce-core=7.7.0");
        NoClassDefFoundError failure = new NoClassDefFoundError("a/B");
        failure.initCause(new IllegalStateException("in a circle", failure));
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, null)) {
            assertThat(Libraries.explain(failure, loader).observation()).contains("io.lettuce 7.7.0 is needed");
        }
    }

    @Test
    void optional_isNamedIfItIsThereInAnotherVersion() throws IOException {
        needs("io.netty\\:netty-transport-classes-epoll?=4.2.20");
        has("io.netty", "netty-transport-classes-epoll", "4.1.130");

        assertThat(explain().observation())
                .endsWith(": io.netty 4.2.20 is needed, 4.1.130 was found [netty-transport-classes-epoll]");
    }

    /** The needed version does not help if another one is there as well: it may come first. */
    @Test
    void twice_isNamedWithAllVersions(@TempDir Path other) throws IOException {
        needs("io.netty\\:netty-common=4.2.20");
        has("io.netty", "netty-common", "4.2.20");
        has(other, "io.netty", "netty-common", "4.1.130");
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {folder.toUri().toURL(), other.toUri().toURL()}, null)) {
            assertThat(Libraries.explain(MISSING, loader).observation())
                    .endsWith(": io.netty 4.2.20 is needed, 4.1.130 and 4.2.20 was found [netty-common]");
        }
    }

    @Test
    void severalGroups_areAllNamed_ifTheFailureNamesNone() throws IOException {
        needs("io.netty\\:netty-common=4.2.20", "io.lettuce\\:lettuce-core=7.7.0");
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, null)) {
            Libraries.Explanation why = Libraries.explain(new NoClassDefFoundError("a/B"), loader);
            assertThat(why.observation())
                    .endsWith(": io.lettuce 7.7.0 is needed, none was found [lettuce-core];"
                            + " io.netty 4.2.20 is needed, none was found [netty-common]");
            assertThat(why.remedy())
                    .isEqualTo(
                            "import dev.holdfast:lock-bom before other bills of materials in the dependencyManagement"
                                    + " of your build");
        }
    }

    @Test
    void withoutALoader_theSystemsIsAsked() {
        assertThat(Libraries.explain(MISSING, null).observation())
                .startsWith("a class of the store's client cannot be linked (" + MISSING + ")");
    }

    private void needs(String... lines) throws IOException {
        Path list = folder.resolve(Libraries.NEEDED);
        Files.createDirectories(list.getParent());
        Files.writeString(list, String.join("\n", lines));
    }

    private void has(String group, String artifact, String version) throws IOException {
        has(folder, group, artifact, version);
    }

    private static void has(Path where, String group, String artifact, String version) throws IOException {
        Path jar = Files.createDirectories(
                where.resolve("META-INF/maven").resolve(group).resolve(artifact));
        Files.writeString(jar.resolve("pom.properties"), "version=" + version);
    }

    private Libraries.Explanation explain() throws IOException {
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, null)) {
            return Libraries.explain(MISSING, loader);
        }
    }
}
