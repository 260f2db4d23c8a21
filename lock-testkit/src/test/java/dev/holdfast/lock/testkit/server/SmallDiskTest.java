package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.process.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Where the tests of full disks run it works, or says why not. */
@Tag(House.TAG)
@Tag(House.SLOW)
class SmallDiskTest {

    @Test
    void fullDisk_takesNothing_untilItIsFree_andNothingStaysBehind() throws Exception {
        Path folder;
        try (SmallDisk disk = SmallDisk.mount(1)) {
            folder = disk.folder();
            Path file = folder.resolve("file");
            Files.writeString(file, "before");
            disk.fill();
            assertThatThrownBy(() -> Files.writeString(folder.resolve("other"), "x".repeat(10)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("No space left");
            disk.free();
            Files.writeString(folder.resolve("other"), "after");
            assertThat(file).hasContent("before");
        }
        assertThat(folder).doesNotExist();
    }
}
