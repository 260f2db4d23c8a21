package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A thread that inherits no thread-locals has the system's class loader as its context loader since Java 19. Threads of the
 * library, which run drivers and callbacks, have the library's on every version.
 */
class ThreadsTest {

    @Test
    void threadsOfTheLibrary_haveItsClassLoader() throws IOException {
        List<String> making = new ArrayList<>();
        List<String> without = new ArrayList<>();
        for (String module : Sources.published()) {
            if (module.matches("lock-cli|lock-testkit")) {
                continue;
            }
            for (Path file : Sources.files(Sources.mainSources(module), ".java")) {
                String text = Files.readString(file);
                if (text.contains("new Thread(") || text.contains("extends Thread ")) {
                    making.add(file.getFileName().toString());
                    if (!text.contains("setContextClassLoader(")) {
                        without.add(Sources.ROOT.relativize(file).toString());
                    }
                }
            }
        }
        assertThat(making).contains("ClientThreads.java");
        assertThat(without).as("make threads by ClientThreads.daemon").isEmpty();
    }
}
