package dev.holdfast.benchmarks.worker;

import java.nio.file.Path;
import java.util.List;

/**
 * How workers run.
 *
 * @param java the binary
 * @param options of the JVM
 * @param folder for logs and records
 */
public record WorkerSettings(Path java, List<String> options, Path folder) {

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
                Path.of(System.getProperty("java.home"), "bin", "java"), List.of("-Xms192m", "-Xmx384m"), folder);
    }

    /**
     * The same with other options of the JVM.
     *
     * @param others instead of those so far
     * @return changed settings
     */
    public WorkerSettings with(List<String> others) {
        return new WorkerSettings(java, others, folder);
    }

    /**
     * The same on another JVM.
     *
     * @param binary its java
     * @return changed settings
     */
    public WorkerSettings on(Path binary) {
        return new WorkerSettings(binary, options, folder);
    }
}
