package dev.holdfast.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Classes that need each other, directly or through others, are read together or not at all: no module has a circle of more
 * than {@value #MAX_CLASSES} of them. A nested class counts as its outer one. In this module, which is built last with
 * {@code -Dbuild.whole}, as bin/verify does it: then all modules are judged, and otherwise those that are built.
 */
class ClassCirclesTest {
    private static final int MAX_CLASSES = 5;
    private static final boolean WHOLE = System.getProperty("build.whole") != null;
    private static final Path ROOT = Path.of("..");
    private static final Pattern MODULE = Pattern.compile("<module>([^<]+)</module>");

    static Stream<String> modules() throws IOException {
        return MODULE.matcher(Files.readString(ROOT.resolve("pom.xml")))
                .results()
                .map(found -> found.group(1))
                .filter(module -> Files.isDirectory(ROOT.resolve(module).resolve("src/main/java")))
                .filter(module -> WHOLE || Files.isDirectory(classes(module)));
    }

    private static Path classes(String module) {
        return ROOT.resolve(module).resolve("target/classes");
    }

    @ParameterizedTest
    @MethodSource("modules")
    void circles_areSmall(String module) {
        assertThat(classes(module)).isDirectory();
        assertThat(largestCircle(dependencies(module)))
                .as("classes of %s that need each other", module)
                .hasSizeLessThanOrEqualTo(MAX_CLASSES);
    }

    @Test
    void modules_areThere() throws IOException {
        assertThat(modules())
                .as("modules that are built")
                .contains(
                        "lock-api",
                        "lock-memory",
                        "lock-testkit",
                        "lock-jdbc",
                        "lock-redis",
                        "lock-etcd",
                        "lock-zookeeper",
                        "lock-consul");
        assertThat(dependencies("lock-api").get("dev.holdfast.lock.engine.LockEngine"))
                .contains("dev.holdfast.lock.engine.EngineClient", "dev.holdfast.lock.spi.LockBackend");
    }

    @Test
    void largestCircle_isFound() {
        Map<String, Set<String>> graph = Map.of(
                "a", Set.of("b"),
                "b", Set.of("c", "d"),
                "c", Set.of("a", "e"),
                "d", Set.of("e"),
                "e", Set.of("d", "f"));
        assertThat(largestCircle(graph)).containsExactly("a", "b", "c");
    }

    /** The top-level classes of a module, each with those of the same module that it names. */
    private static Map<String, Set<String>> dependencies(String module) {
        Map<String, Set<String>> graph = new TreeMap<>();
        for (JavaClass type : new ClassFileImporter().importPath(classes(module))) {
            Set<String> targets = graph.computeIfAbsent(outermost(type), key -> new TreeSet<>());
            type.getDirectDependenciesFromSelf()
                    .forEach(dependency ->
                            targets.add(outermost(dependency.getTargetClass().getBaseComponentType())));
        }
        graph.values().forEach(targets -> targets.retainAll(graph.keySet()));
        return graph;
    }

    private static String outermost(JavaClass type) {
        return type.getName().replaceFirst("\\$.*", "");
    }

    private static Set<String> largestCircle(Map<String, Set<String>> graph) {
        Circles circles = new Circles(graph);
        graph.keySet().forEach(circles::visit);
        return circles.largest;
    }

    /** Tarjan's strongly connected components. */
    private static final class Circles {
        private final Map<String, Set<String>> graph;
        private final Map<String, Integer> order = new HashMap<>();
        private final Map<String, Integer> lowest = new HashMap<>();
        private final Deque<String> path = new ArrayDeque<>();
        private Set<String> largest = Set.of();

        Circles(Map<String, Set<String>> graph) {
            this.graph = graph;
        }

        void visit(String node) {
            if (order.containsKey(node)) {
                return;
            }
            order.put(node, order.size());
            lowest.put(node, order.get(node));
            path.push(node);
            for (String target : graph.getOrDefault(node, Set.of())) {
                if (!order.containsKey(target)) {
                    visit(target);
                    lowest.merge(node, lowest.get(target), Math::min);
                } else if (path.contains(target)) {
                    lowest.merge(node, order.get(target), Math::min);
                }
            }
            if (lowest.get(node).equals(order.get(node))) {
                List<String> circle = new ArrayList<>();
                do {
                    circle.add(path.pop());
                } while (!circle.contains(node));
                if (circle.size() > largest.size()) {
                    largest = new TreeSet<>(circle);
                }
            }
        }
    }
}
