package dev.holdfast.lock.cli;

import dev.holdfast.lock.testkit.server.process.ClassArchive;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Where a process of the command finds its classes: tests start it more than a hundred times. */
final class CliClasses {
    private static final List<String> OPTIONS =
            ClassArchive.options("command", System.getProperty("java.class.path"), CliClasses::runOnce);

    private CliClasses() {}

    /** The class path, and the archive if one could be made. */
    static List<String> options() {
        return OPTIONS;
    }

    private static void runOnce(List<String> options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(CliRun.jvm());
        command.addAll(options);
        command.add(EachStoreOnce.class.getName());
        Process process = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            process.destroyForcibly();
        }
    }

    /** The command in one JVM on each kind of store: H2 has no server, the others refuse it. */
    static final class EachStoreOnce {

        private EachStoreOnce() {}

        public static void main(String[] args) {
            List.of(
                            "jdbc:h2:mem:locks?holdfast.createTable=true",
                            "redis://127.0.0.1:1",
                            "etcd://127.0.0.1:1",
                            "zookeeper://127.0.0.1:1",
                            "consul://127.0.0.1:1",
                            "memcached://127.0.0.1:1",
                            "jdbc:postgresql://127.0.0.1:1/x")
                    .forEach(store -> Holdfast.commandLine()
                            .execute("run", "--store", store, "--timeout", "200ms", "x", "--", "true"));
            Holdfast.main(new String[] {"doctor", "jdbc:h2:mem:locks?holdfast.createTable=true"});
        }
    }
}
