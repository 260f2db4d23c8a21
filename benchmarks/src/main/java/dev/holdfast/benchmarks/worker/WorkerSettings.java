package dev.holdfast.benchmarks.worker;

import java.nio.file.Path;
import java.util.List;

/**
 * How workers run.
 *
 * @param java the binary
 * @param options of the JVM
 * @param folder for logs and records
 * @param classPath of the worker
 */
public record WorkerSettings(Path java, List<String> options, Path folder, String classPath) {

    /** Copies the options. */
    public WorkerSettings {
        options = List.copyOf(options);
    }

    /**
     * This JVM's own binary and a fixed heap.
     *
     * @param folder for logs and records
     * @return the settings of all scenarios that do not ask for others
     */
    public static WorkerSettings usual(Path folder) {
        return new WorkerSettings(
                Path.of(System.getProperty("java.home"), "bin", "java"),
                List.of("-Xms192m", "-Xmx384m"),
                folder,
                System.getProperty("java.class.path"));
    }

    /**
     * The same with other options of the JVM.
     *
     * @param others instead of those so far
     * @return changed settings
     */
    public WorkerSettings with(List<String> others) {
        return new WorkerSettings(java, others, folder, classPath);
    }

    /**
     * The same on other classes.
     *
     * @param path where they are
     * @return changed settings
     */
    public WorkerSettings onClasses(String path) {
        return new WorkerSettings(java, options, folder, path);
    }

    /**
     * The same on another JVM.
     *
     * @param binary its java
     * @return changed settings
     */
    public WorkerSettings on(Path binary) {
        return new WorkerSettings(binary, options, folder, classPath);
    }
}
