package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** What an application gets that adds the starter: no store, no part of Spring. */
class StarterPomTest {

    @Test
    void starter_bringsNoBackend_andNoOptionalLibrary() throws Exception {
        Path flattened = Path.of(".flattened-pom.xml"); // what is published; only Maven makes it
        NodeList all = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse((Files.exists(flattened) ? flattened : Path.of("pom.xml")).toFile())
                .getElementsByTagName("dependency");
        Set<String> handedDown = new TreeSet<>();
        int optional = 0;
        for (int i = 0; i < all.getLength(); i++) {
            Element dependency = (Element) all.item(i);
            if (!dependency.getParentNode().getParentNode().getNodeName().equals("project")) {
                continue; // managed, not handed down
            }
            if ("true".equals(text(dependency, "optional"))) {
                optional++;
            } else if (!"test".equals(text(dependency, "scope"))) {
                handedDown.add(text(dependency, "artifactId"));
            }
        }
        assertThat(handedDown).containsExactly("jspecify", "lock-api", "slf4j-api");
        assertThat(optional).as("optional dependencies that were looked at").isGreaterThan(10);
    }

    private static String text(Element element, String name) {
        for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child.getNodeName().equals(name)) {
                return child.getTextContent().strip();
            }
        }
        return "";
    }
}
