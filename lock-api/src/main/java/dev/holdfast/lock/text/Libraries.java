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
 * Says why a class cannot be linked: which libraries a backend needs, in which version, and which are there. A backend lists
 * what it was built with in {@value #NEEDED}, a library a line; what is there, Maven's descriptors in the jars tell.
 */
public final class Libraries {
    /** A line is {@code group:artifact=version}; after {@code group:artifact?} the library may be missing. */
    static final String NEEDED = "META-INF/holdfast/libraries.properties";

    private Libraries() {}

    /**
     * Why a class cannot be linked.
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

    /** One library whose version is not the one that a backend was built with. */
    private record Difference(String group, String artifact, String needed, String found) {
        String versions() {
            return group + " " + needed + " is needed, " + found + " was found";
        }
    }

    /**
     * Explains a failure.
     *
     * @param failure what could not be linked
     * @param loader of the class that needs it, or null
     * @return observation and remedy
     */
    public static Explanation explain(LinkageError failure, @Nullable ClassLoader loader) {
        String observation = "a class of the store's client cannot be linked (" + failure + ")";
        List<Difference> told = told(failure, loader == null ? ClassLoader.getSystemClassLoader() : loader);
        if (told.isEmpty()) {
            return new Explanation(observation, "compare 'mvn dependency:tree' with docs/compatibility.md");
        }
        Map<String, TreeSet<String>> artifacts = new TreeMap<>();
        told.forEach(each -> artifacts
                .computeIfAbsent(each.versions(), key -> new TreeSet<>())
                .add(each.artifact()));
        String versions = artifacts.entrySet().stream()
                .map(each -> each.getKey() + " " + each.getValue())
                .collect(Collectors.joining("; "));
        boolean netty = told.stream().allMatch(each -> each.group().equals("io.netty"));
        return new Explanation(
                observation + ": " + versions,
                "import dev.holdfast:lock-bom"
                        + (netty ? ", or io.netty:netty-bom " + told.get(0).needed() + "," : "")
                        + " before other bills of materials in the dependencyManagement of your build");
    }

    /** What differs in the group that the failure names, or else all that differs. */
    private static List<Difference> told(LinkageError failure, ClassLoader loader) {
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

    /** Whether the failure or one of its causes is about a class of that group's packages. */
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
