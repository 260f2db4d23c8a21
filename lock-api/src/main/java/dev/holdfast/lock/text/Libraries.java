package dev.holdfast.lock.text;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Explains why a class cannot be linked, by comparing the library versions that a backend needs with those on the class path.
 * A backend lists the former in {@value #NEEDED}, one library per line; the latter are read from Maven's descriptors in the
 * jars.
 */
public final class Libraries {
    /** A line is {@code group:artifact=version}; after {@code group:artifact?} the library may be missing. */
    static final String NEEDED = "META-INF/holdfast/libraries.properties";

    private Libraries() {}

    /**
     * The reason why a class cannot be linked.
     *
     * @param observation what differs
     * @param remedy what to do
     */
    public record Explanation(String observation, String remedy) {
        @Override
        public String toString() {
            return observation + "; " + remedy;
        }
    }

    /** A library whose version differs from the one that a backend was built with. */
    private record Difference(String group, String artifact, String needed, String found) {
        String versions() {
            return group + " " + needed + " is needed, " + found + " was found";
        }
    }

    /**
     * Explains a failure.
     *
     * @param failure the linkage error
     * @param loader the loader of the class that failed to link, or null for the system
     *     class loader
     * @return observation and remedy
     */
    public static Explanation explain(LinkageError failure, @Nullable ClassLoader loader) {
        String observation = "a class of the store's client cannot be linked (" + failure + ")";
        List<Difference> relevant =
                relevantDifferences(failure, loader == null ? ClassLoader.getSystemClassLoader() : loader);
        if (relevant.isEmpty()) {
            return new Explanation(observation, "compare 'mvn dependency:tree' with docs/compatibility.md");
        }
        Map<String, TreeSet<String>> artifacts = new TreeMap<>();
        relevant.forEach(each -> artifacts
                .computeIfAbsent(each.versions(), key -> new TreeSet<>())
                .add(each.artifact()));
        String versions = artifacts.entrySet().stream()
                .map(each -> each.getKey() + " " + each.getValue())
                .collect(Collectors.joining("; "));
        boolean netty = relevant.stream().allMatch(each -> each.group().equals("io.netty"));
        return new Explanation(
                observation + ": " + versions,
                "import dev.holdfast:lock-bom"
                        + (netty ? ", or io.netty:netty-bom " + relevant.get(0).needed() + "," : "")
                        + " before other bills of materials in the dependencyManagement of your build");
    }

    /** Returns the differences in the group that the failure names; if there are none, all differences. */
    private static List<Difference> relevantDifferences(LinkageError failure, ClassLoader loader) {
        List<Difference> differences;
        try {
            differences = differences(loader);
        } catch (IOException e) {
            failure.addSuppressed(e);
            return List.of();
        }
        List<Difference> named = differences.stream()
                .filter(each -> names(failure, each.group()))
                .toList();
        return named.isEmpty() ? differences : named;
    }

    /** Whether the failure or one of its causes names a class in that group's packages. */
    private static boolean names(Throwable failure, String group) {
        int depth = 0;
        for (Throwable cause = failure; cause != null && depth < 10; cause = cause.getCause(), depth++) {
            if (cause.toString().replace('/', '.').contains(group + ".")) {
                return true;
            }
        }
        return false;
    }

    private static List<Difference> differences(ClassLoader loader) throws IOException {
        Map<String, Difference> differences = new TreeMap<>();
        for (URL list : Collections.list(loader.getResources(NEEDED))) {
            Properties needed = load(list);
            for (String key : needed.stringPropertyNames()) {
                boolean optional = key.endsWith("?");
                String[] library = (optional ? key.substring(0, key.length() - 1) : key).split(":", 2);
                String version = needed.getProperty(key);
                TreeSet<String> found = found(loader, library[0], library[1]);
                boolean asNeeded = found.size() == 1 && found.contains(version) || optional && found.isEmpty();
                if (!asNeeded) {
                    differences.put(
                            library[0] + ":" + library[1],
                            new Difference(
                                    library[0],
                                    library[1],
                                    version,
                                    found.isEmpty() ? "none" : String.join(" and ", found)));
                }
            }
        }
        return List.copyOf(differences.values());
    }

    private static TreeSet<String> found(ClassLoader loader, String group, String artifact) throws IOException {
        TreeSet<String> versions = new TreeSet<>();
        String descriptor = "META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        for (URL jar : Collections.list(loader.getResources(descriptor))) {
            versions.add(load(jar).getProperty("version", "unknown"));
        }
        return versions;
    }

    private static Properties load(URL file) throws IOException {
        Properties properties = new Properties();
        try (InputStream in = file.openStream()) {
            properties.load(in);
        }
        return properties;
    }
}
