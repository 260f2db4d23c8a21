package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.house.House;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A client's clock may be an hour off: nothing here reads it, and no time but lengths is sent to the database. */
@House("time:clocks")
final class ClockTest {
    private static final Pattern WALL_CLOCK = Pattern.compile(
            "currentTimeMillis|Instant\\.now|Clock\\.system|LocalDateTime|ZonedDateTime|OffsetDateTime|new Date\\(|setTimestamp|setDate|setTime\\(");

    @Test
    void sources_readNoWallClock_andSendNoTime() throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".java")).toList()) {
                String text = Files.readString(file);
                if (WALL_CLOCK.matcher(text).find()) {
                    found.add(file.toString());
                }
            }
        }
        assertThat(found).isEmpty();
    }
}
