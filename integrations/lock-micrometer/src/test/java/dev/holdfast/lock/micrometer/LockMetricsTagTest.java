package dev.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The tag {@code lock}: how many values it has, and where they come from. */
class LockMetricsTagTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final LockClient client = MemoryStore.create().newClient(LockClientOptions.defaults());

    @AfterEach
    void close() {
        client.close();
    }

    @Test
    void tag_isThePrefix_hasAHundredValues_thenOther() throws Exception {
        LockMetrics.of(client).bindTo(registry);
        for (int i = 0; i < 150; i++) {
            client.lock("name" + i + "/" + i).acquire().close();
            client.lock("orders/" + i).acquire().close();
        }

        await().atMost(PATIENCE)
                .until(() -> registry.find("holdfast.lock.hold").timers().stream()
                                .mapToLong(Timer::count)
                                .sum()
                        == 300);
        Set<String> values = registry.getMeters().stream()
                .map(meter -> meter.getId().getTag("lock"))
                .filter(java.util.Objects::nonNull)
                .collect(Collectors.toSet());
        assertThat(values).hasSize(101).contains("other", "orders", "name0").doesNotContain("name149");
        assertThat(registry.get("holdfast.lock.hold")
                        .tag("lock", "other")
                        .timer()
                        .count())
                .isEqualTo(51);
        assertThat(registry.getMeters()).as("all series of one client").hasSizeLessThan(101 * 5 + 2);
    }

    @Test
    void tag_isReplaceable_andAFunctionThatFailsCountsAsOther() throws Exception {
        LockMetrics.builder(client)
                .lockTag(name -> switch (name) {
                    case "a" -> null;
                    case "b" -> " ";
                    case "c" -> throw new IllegalStateException("on purpose");
                    default -> name.toUpperCase(java.util.Locale.ROOT);
                })
                .maxLockTags(1)
                .tags(Tags.of("client", "billing"))
                .build()
                .bindTo(registry);
        for (String name : new String[] {"first", "a", "b", "c", "second"}) {
            client.lock(name).acquire().close();
        }

        await().atMost(PATIENCE)
                .until(() ->
                        registry.find("holdfast.lock.hold").tag("lock", "other").timer() != null
                                && registry.get("holdfast.lock.hold")
                                                .tag("lock", "other")
                                                .timer()
                                                .count()
                                        == 4);
        assertThat(registry.get("holdfast.lock.hold")
                        .tags("lock", "FIRST", "client", "billing")
                        .timer()
                        .count())
                .isEqualTo(1);
        assertThatThrownBy(() -> LockMetrics.builder(client).maxLockTags(-1)).hasMessageContaining("-1");
    }
}
