package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.testkit.server.process.SlowDisk;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SlowDiskTest {
    private static final Duration EACH = Duration.ofSeconds(1);

    @Test
    void forcedWritesWaitUntilItIsClosed() throws Exception {
        try (RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always")) {
            try (SlowDisk disk = SlowDisk.of(server.process(), EACH)) {
                assertThat(elapsed(server, "SET", "slow", "1"))
                        .as("a write, " + disk)
                        .isGreaterThanOrEqualTo(EACH);
                assertThat(shortest(server, "GET", "slow")).as("a read").isLessThan(EACH);
            }
            server.command("SET", "after", "1"); // one may still have waited
            assertThat(shortest(server, "SET", "after", "2"))
                    .as("a write, after")
                    .isLessThan(EACH);
            assertThat(server.command("GET", "slow"))
                    .as("what was written slowly")
                    .isEqualTo("1");
        }
    }

    @Test
    void aServerThatIsNotThere_isRefused() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            server.process().kill();
            assertThatThrownBy(() -> SlowDisk.of(server.process(), EACH))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("is not running");
        }
    }

    /** Of up to five, since the machine may pause. */
    private static Duration shortest(RedisServer server, String... command) throws IOException {
        Duration shortest = elapsed(server, command);
        for (int i = 1; i < 5 && shortest.compareTo(EACH) >= 0; i++) {
            shortest = elapsed(server, command);
        }
        return shortest;
    }

    private static Duration elapsed(RedisServer server, String... command) throws IOException {
        long start = System.nanoTime();
        server.command(command);
        return Duration.ofNanos(System.nanoTime() - start);
    }
}
