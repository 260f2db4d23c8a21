package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Classes that need each other, directly or through others, can only be read together: no module has a circle of more than
 * {@value #MAX_CIRCLE} of them. jdeps reads the dependencies from the class files, so sealed types, annotations and constants that
 * are read at run time count too. A nested class counts as its outermost one.
 */
class ClassCirclesTest {
    private static final int MAX_CIRCLE = 5;
    private static final Pattern ARROW = Pattern.compile("^ +(dev\\.holdfast\\.\\S+) +-> (dev\\.holdfast\\.\\S+) +.*$");

    static Stream<String> modules() throws IOException {
        return Sources.published().stream();
    }

    @ParameterizedTest
    @MethodSource("modules")
    void circles_areSmall(String module) throws IOException {
        assertThat(largestCircle(dependencies(module)))
                .as("classes of %s that need each other", module)
                .hasSizeLessThanOrEqualTo(MAX_CIRCLE);
    }

    @Test
    void dependencies_areSeen() throws IOException {
        assertThat(modules()).contains("lock-api", "lock-jdbc", "lock-redis", "lock-etcd", "lock-zookeeper");
        Map<String, Set<String>> graph = dependencies("lock-api");
        assertThat(graph.get("dev.holdfast.lock.engine.LockEngine")).contains("dev.holdfast.lock.spi.LockBackend");
        assertThat(graph.get("dev.holdfast.lock.Demand"))
                .as("named in the class file only by its own nested classes, or by others")
                .doesNotContain("dev.holdfast.lock.Demand");
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

    /** The top-level classes of a module, each with those of the same module that its class files name. */
    private static Map<String, Set<String>> dependencies(String module) throws IOException {
        Path classes = Sources.classes(module);
        assertThat(classes).isDirectory();
        StringWriter printed = new StringWriter();
        List<String> arguments = new ArrayList<>(List.of(
                "-verbose:class",
                "-filter:none",
                "--ignore-missing-deps",
                "--multi-release",
                "base",
                "-cp",
                classes.toString()));
        for (Path file : Sources.files(classes.resolve("dev"), ".class")) {
            if (!file.endsWith("module-info.class")) {
                arguments.add(file.toString());
            }
        }
        ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
        try (PrintWriter out = new PrintWriter(printed)) {
            assertThat(jdeps.run(out, out, arguments.toArray(String[]::new)))
                    .as("%s", printed)
                    .isZero();
        }
        Map<String, Set<String>> graph = new TreeMap<>();
        for (Path file : Sources.files(classes.resolve("dev"), ".class")) {
            graph.put(
                    outermost(classes.relativize(file)
                            .toString()
                            .replace('/', '.')
                            .replaceFirst("\\.class$", "")),
                    new TreeSet<>());
        }
        for (String line : printed.toString().lines().toList()) {
            Matcher arrow = ARROW.matcher(line);
            if (arrow.matches() && !outermost(arrow.group(1)).equals(outermost(arrow.group(2)))) {
                graph.computeIfAbsent(outermost(arrow.group(1)), key -> new TreeSet<>())
                        .add(outermost(arrow.group(2)));
            }
        }
        graph.values().forEach(targets -> targets.retainAll(graph.keySet()));
        return graph;
    }

    private static String outermost(String type) {
        return type.replaceFirst("\\$.*", "");
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
