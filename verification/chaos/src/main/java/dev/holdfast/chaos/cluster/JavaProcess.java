package dev.holdfast.chaos.cluster;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Command lines of JVMs with this one's class path. */
public final class JavaProcess {
    private JavaProcess() {}

    /**
     * The class path of this JVM. Surefire may start it with a jar that only names the class path.
     *
     * @return in the platform's syntax
     */
    public static String classPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }

    /**
     * Writes a command line for a small JVM that starts quickly.
     *
     * @param heap such as {@code 128m}
     * @param main the main class
     * @param arguments its arguments, system properties ({@code -D…}) first
     * @return the command
     */
    public static List<String> command(String heap, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + heap,
                "-Xss512k",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto"));
        List<String> rest = Arrays.asList(arguments);
        rest.stream().filter(argument -> argument.startsWith("-D")).forEach(command::add);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        rest.stream().filter(argument -> !argument.startsWith("-D")).forEach(command::add);
        return command;
    }
}
