package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalHostTest {
    private final Callable<String> forbidden = () -> {
        throw new AssertionError("a name server was asked");
    };

    @Test
    void name_isTheEnvironments() {
        assertThat(LocalHost.name(Map.of("HOSTNAME", "box-1"), List.of(), forbidden, 1))
                .isEqualTo("box-1");
        assertThat(LocalHost.name(Map.of("COMPUTERNAME", "BOX 2"), List.of(), forbidden, 1))
                .isEqualTo("BOX-2");
        Map<String, String> both = Map.of("COMPUTERNAME", "BOX-2", "HOSTNAME", "box-1");
        assertThat(LocalHost.name(both, List.of(Path.of("pom.xml")), forbidden, 1))
                .isEqualTo("box-1");
    }

    @Test
    void name_isTheSystemsFileElse(@TempDir Path directory) throws IOException {
        Path file = Files.writeString(directory.resolve("hostname"), "box-3\n");
        Path blank = Files.writeString(directory.resolve("blank"), " \n");
        List<Path> files = List.of(directory.resolve("absent"), directory, blank, file, directory.resolve("later"));
        assertThat(LocalHost.name(Map.of(), files, forbidden, 1)).isEqualTo("box-3");
    }

    @Test
    void lookUp_thatHangs_isNotWaitedFor() {
        CountDownLatch never = new CountDownLatch(1);
        Callable<String> hangs = () -> {
            never.await();
            return "too late";
        };
        try {
            assertTimeout(
                    Duration.ofSeconds(10),
                    () -> assertThat(LocalHost.name(Map.of(), List.of(), hangs, 20))
                            .isEqualTo("unknown-host"));
        } finally {
            never.countDown();
        }
    }

    @Test
    void lookUp_thatFails_isUnknown() {
        Callable<String> fails = () -> {
            throw new IOException("on purpose");
        };
        assertThat(LocalHost.name(Map.of(), List.of(), fails, 10_000)).isEqualTo("unknown-host");
    }

    @Test
    void lookUp_isAskedLast() {
        assertThat(LocalHost.name(Map.of("HOSTNAME", " "), List.of(), () -> " box 5\n", 10_000))
                .isEqualTo("box-5");
    }

    @Test
    void lookUp_interrupted_isUnknown_andKeepsTheInterrupt() {
        CountDownLatch never = new CountDownLatch(1);
        Thread.currentThread().interrupt();
        try {
            assertThat(LocalHost.name(
                            Map.of(),
                            List.of(),
                            () -> {
                                never.await();
                                return "too late";
                            },
                            600_000))
                    .isEqualTo("unknown-host");
            assertThat(Thread.interrupted()).isTrue();
        } finally {
            never.countDown();
        }
    }
}
