package dev.holdfast.lock.testkit.server.process;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/** Runs the programs that are installed on this machine. */
enum ThisMachine implements ServerHost {
    INSTANCE;

    private static final Duration RUN_PATIENCE = Duration.ofMinutes(2);

    /** For tests: a niceness for servers, if root starts them. In earnest a server does not share its processors with its clients. */
    private static final String NICE_PROPERTY = "holdfast.servers.nice";

    @Override
    public ServerRun launch(ServerEnvironment environment, List<String> command) throws IOException {
        Process process = processBuilder(priority(), environment, command)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(environment.log().toFile()))
                .start();
        return new Run(process, ProcessTree.guard(process.toHandle(), environment.folder()));
    }

    /** A prefix that replaces itself by the command; where it is not allowed, it only writes a line about that. */
    private static List<String> priority() {
        String nice = System.getProperty(NICE_PROPERTY, "");
        return nice.isEmpty() || !"root".equals(System.getProperty("user.name"))
                ? List.of()
                : List.of("nice", "-n", nice);
    }

    @Override
    public String run(ServerEnvironment environment, List<String> command) throws IOException, InterruptedException {
        Path output = Files.createTempFile("holdfast-", ".out");
        try {
            Process process = processBuilder(List.of(), environment, command)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(RUN_PATIENCE.toSeconds(), TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            String text = Files.readString(output, StandardCharsets.ISO_8859_1);
            if (!ended || process.exitValue() != 0) {
                throw new IOException(environment + ": '" + String.join(" ", command) + "' "
                        + (ended ? "ended with status " + process.exitValue() : "did not end within " + RUN_PATIENCE)
                        + ":\n" + text);
            }
            return text;
        } finally {
            Files.deleteIfExists(output);
        }
    }

    @Override
    public String program(List<String> names, String... folders) {
        return ServerBinary.find(names, folders).toString();
    }

    private static ProcessBuilder processBuilder(
            List<String> before, ServerEnvironment environment, List<String> command) {
        List<String> full = new ArrayList<>(before);
        full.addAll(environment.user().prefix());
        full.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(full)
                .directory(environment.folder().toFile())
                .redirectErrorStream(true);
        builder.redirectInput(new File("/dev/null"));
        builder.environment().putAll(environment.variables());
        return builder;
    }

    private record Run(Process process, Process guard) implements ServerRun {

        @Override
        public long pid() {
            return process.pid();
        }

        @Override
        public boolean isAlive() {
            return process.isAlive();
        }

        @Override
        public OptionalLong awaitEnd(Duration atMost) throws InterruptedException {
            return process.waitFor(atMost.toMillis(), TimeUnit.MILLISECONDS)
                    ? OptionalLong.of(process.exitValue())
                    : OptionalLong.empty();
        }

        @Override
        public void pause() {
            ProcessTree.stop(process.toHandle());
        }

        @Override
        public void resume() {
            ProcessTree.signal(process.toHandle(), "CONT");
        }

        @Override
        public void kill() throws InterruptedException {
            ProcessTree.kill(process.toHandle());
            process.waitFor(); // its handle may have seen the end a moment earlier
            guard.destroyForcibly();
        }
    }
}
