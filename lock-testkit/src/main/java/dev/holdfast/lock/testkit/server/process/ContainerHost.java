package dev.holdfast.lock.testkit.server.process;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.exception.NotModifiedException;
import com.github.dockerjava.api.model.AccessMode;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Volume;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.output.OutputFrame;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;
import org.testcontainers.images.RemoteDockerImage;
import org.testcontainers.utility.DockerImageName;

/**
 * Runs an image's programs with Testcontainers. A container shares this machine's network and has the server's folder at
 * the same path, so that the command lines are those of a server without a container. Each start is a new container; what
 * the server has written stays in the folder.
 */
final class ContainerHost implements ServerHost {

    private static final Duration RUN_PATIENCE = Duration.ofMinutes(2);
    private static final long POLL_MILLIS = 20;
    private static final String RUN_LABEL = "holdfast.run";
    private static final String RUN_VARIABLE = "HOLDFAST_RUN";
    private static final Map<ServerImage, Boolean> AT_HAND = new ConcurrentHashMap<>();

    private final ServerImage image;

    ContainerHost(ServerImage image) {
        this.image = image;
    }

    /** Whether an engine answers and has the image or can pull it; asked once an image. */
    static boolean canRun(ServerImage image) {
        return AT_HAND.computeIfAbsent(image, ContainerHost::tryImage);
    }

    private static boolean tryImage(ServerImage image) {
        try {
            return EngineSocket.mayAnswer()
                    && DockerClientFactory.instance().isDockerAvailable()
                    && new RemoteDockerImage(DockerImageName.parse(image.name())).get() != null;
        } catch (Exception e) {
            org.slf4j.LoggerFactory.getLogger(ContainerHost.class)
                    .info("image '{}' cannot be had, using the programs of this machine: {}", image, e.toString());
            return false;
        }
    }

    @Override
    public ServerRun launch(ServerEnvironment environment, List<String> command) throws IOException {
        GenericContainer<?> container = container(environment, command);
        container.withLogConsumer(frame -> append(environment.log(), frame));
        try {
            container.start();
        } catch (ContainerLaunchException e) {
            String log = container.getContainerId() == null ? "" : container.getLogs();
            container.stop();
            throw new IOException(environment + ": cannot run image '" + image + "'; its log:\n" + log, e);
        }
        return new Run(container, environment.folder());
    }

    @Override
    public String run(ServerEnvironment environment, List<String> command) throws IOException {
        try (GenericContainer<?> container = container(environment, command)) {
            container.withStartupCheckStrategy(new OneShotStartupCheckStrategy().withTimeout(RUN_PATIENCE));
            try {
                container.start();
                return container.getLogs();
            } catch (ContainerLaunchException e) {
                String log = container.getContainerId() == null ? "" : container.getLogs();
                throw new IOException(
                        environment + ": '" + String.join(" ", command) + "' failed in image '" + image + "':\n" + log,
                        e);
            }
        }
    }

    /** The image's search path has it. */
    @Override
    public String program(List<String> names, String... folders) {
        return names.get(0);
    }

    private GenericContainer<?> container(ServerEnvironment environment, List<String> command) throws IOException {
        GenericContainer<?> container = new GenericContainer<>(DockerImageName.parse(image.name()));
        String user = user(environment);
        container.withEnv(environment.variables());
        // What bin/verify finds those by that a killed JVM has left behind.
        container.withLabel(RUN_LABEL, System.getenv().getOrDefault(RUN_VARIABLE, ""));
        container.withNetworkMode("host");
        container.withWorkingDirectory(environment.folder().toString());
        List<Bind> binds = new ArrayList<>();
        binds.add(bind(environment.folder(), environment.folder().toString(), AccessMode.rw));
        environment.readable().forEach(file -> binds.add(bind(file, file.toString(), AccessMode.ro)));
        // Some programs look up the name of the user that they run as.
        Path users = environment.write("passwd", "root:x:0:0::/root:/bin/sh\nholdfast:x:" + user + "::/tmp:/bin/sh\n");
        binds.add(bind(users, "/etc/passwd", AccessMode.ro));
        // Not by withFileSystemBind: before the first one Testcontainers tries it out with an image of its own.
        container.withCreateContainerCmdModifier(create -> {
            create.withEntrypoint(command).withCmd(List.of()).withUser(user);
            Objects.requireNonNull(create.getHostConfig()).withBinds(binds);
        });
        container.waitingFor(new Immediately());
        return container;
    }

    private static Bind bind(Path file, String inside, AccessMode mode) {
        return new Bind(file.toString(), new Volume(inside), mode);
    }

    /** Who owns the folder is who the server runs as: {@code uid:gid}. */
    private static String user(ServerEnvironment environment) throws IOException {
        environment.own();
        return Files.getAttribute(environment.folder(), "unix:uid") + ":"
                + Files.getAttribute(environment.folder(), "unix:gid");
    }

    private static void append(Path log, OutputFrame frame) {
        try {
            Files.writeString(
                    log,
                    frame.getUtf8String(),
                    StandardCharsets.UTF_8,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            // The folder is gone already: the server has been closed.
        }
    }

    /** Whether the server answers is for {@link ServerProcess} to find out. */
    private static final class Immediately extends AbstractWaitStrategy {
        @Override
        protected void waitUntilReady() {}
    }

    private static final class Run implements ServerRun {

        private final GenericContainer<?> container;
        private final String id;
        private final long pid;
        private final @Nullable Process guard;

        Run(GenericContainer<?> container, Path folder) throws IOException {
            this.container = container;
            this.id = container.getContainerId();
            Long known = container.getCurrentContainerInfo().getState().getPidLong();
            this.pid = known == null ? 0 : known;
            ProcessHandle main = ProcessHandle.of(pid).orElse(null);
            this.guard = main == null || !isOfThisMachine() ? null : ProcessTree.guard(main, folder);
        }

        /** In a desktop engine's virtual machine the number may be that of another process here. */
        private boolean isOfThisMachine() {
            try {
                return Files.readString(Path.of("/proc", Long.toString(pid), "cgroup"))
                        .contains(id);
            } catch (IOException e) {
                return false;
            }
        }

        private static DockerClient engine() {
            return DockerClientFactory.lazyClient();
        }

        @Override
        public long pid() {
            return pid;
        }

        @Override
        public boolean isAlive() {
            return state().isEmpty();
        }

        @Override
        public OptionalLong awaitEnd(Duration atMost) throws InterruptedException {
            long start = System.nanoTime();
            OptionalLong status = state();
            while (status.isEmpty() && System.nanoTime() - start < atMost.toNanos()) {
                TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
                status = state();
            }
            return status;
        }

        /** The exit status, empty while it runs. */
        private OptionalLong state() {
            try {
                InspectContainerResponse.ContainerState state =
                        engine().inspectContainerCmd(id).exec().getState();
                if (Boolean.TRUE.equals(state.getRunning())) {
                    return OptionalLong.empty();
                }
                Long status = state.getExitCodeLong();
                return OptionalLong.of(status == null ? 0 : status);
            } catch (NotFoundException e) {
                return OptionalLong.of(137);
            }
        }

        @Override
        public void pause() {
            engine().pauseContainerCmd(id).exec();
        }

        @Override
        public void resume() {
            try {
                engine().unpauseContainerCmd(id).exec();
            } catch (NotModifiedException | NotFoundException e) {
                // It was not paused, or is gone.
            }
        }

        @Override
        public void kill() {
            container.stop();
            if (guard != null) {
                guard.destroyForcibly();
            }
        }
    }
}
