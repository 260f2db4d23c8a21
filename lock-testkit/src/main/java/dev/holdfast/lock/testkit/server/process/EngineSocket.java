package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Where a container engine of this machine listens. A look at it is cheaper than a failed request of Testcontainers. */
final class EngineSocket {

    private EngineSocket() {}

    /** Whether one is configured or something listens where an engine usually does. */
    static boolean mayAnswer() {
        if (System.getenv("DOCKER_HOST") != null) {
            return true;
        }
        String home = System.getProperty("user.home");
        String runtime = Optional.ofNullable(System.getenv("XDG_RUNTIME_DIR")).orElse("/run");
        return List.of(
                        Path.of("/var/run/docker.sock"),
                        Path.of(runtime, "docker.sock"),
                        Path.of(home, ".docker/run/docker.sock"),
                        Path.of(home, ".docker/desktop/docker.sock"))
                .stream()
                .anyMatch(EngineSocket::listens);
    }

    private static boolean listens(Path socket) {
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            return channel.isConnected();
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }
}
