package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUnavailableException;
import java.nio.file.Path;
import org.h2.tools.Server;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An H2 server that comes back. */
@DisplayName("After the restart of an H2 server")
final class H2RestartTest {
    private static final int ATTEMPTS = 30;

    @TempDir
    private Path folder;

    private Server start(int port) throws Exception {
        return Server.createTcpServer("-tcpPort", "" + port, "-baseDir", folder.toString(), "-ifNotExists")
                .start();
    }

    /** As fast as they come, so that the pool takes the connection for a good one without a look at it. */
    @Test
    @DisplayName("no connection that broke is used again and again")
    void brokenConnections_areNotUsedAgain() throws Exception {
        Server server = start(0);
        int port = server.getPort();
        try (LockClient client = LockClient.connect(
                "jdbc:h2:tcp://127.0.0.1:" + port + "/./restart;USER=sa;PASSWORD=;holdfast.createTable=true")) {
            client.lock("a").acquire().close();
            server.stop();
            server = start(port);
            int refused = 0;
            while (refused < ATTEMPTS) {
                try {
                    client.lock("a").tryAcquire().orElseThrow().close();
                    break;
                } catch (LockUnavailableException e) {
                    refused++;
                }
            }
            assertThat(refused).as("attempts on a connection that is broken").isLessThan(5);
        } finally {
            server.stop();
        }
    }
}
