package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What is forgotten, and when. */
final class RecentOwnersTest {
    private final RecentOwners owners = new RecentOwners();

    @Test
    void oldest_leavesFirst() {
        for (int i = 0; i <= RecentOwners.MAX_OWNERS; i++) {
            owners.add("owner " + i);
        }
        assertThat(owners.contains("owner 0")).isFalse();
        assertThat(owners.contains("owner 1")).isTrue();
        assertThat(owners.contains("owner " + RecentOwners.MAX_OWNERS)).isTrue();
    }

    @Test
    void owner_countsOnce() {
        owners.add("first");
        for (int i = 0; i < RecentOwners.MAX_OWNERS; i++) {
            owners.add("same");
        }
        assertThat(owners.contains("first")).isTrue();
    }

    @Test
    void removed_isThereNoMore() {
        owners.add("a");
        assertThat(owners.remove("a")).isTrue();
        assertThat(owners.contains("a")).isFalse();
        assertThat(owners.remove("a")).isFalse();
    }
}
