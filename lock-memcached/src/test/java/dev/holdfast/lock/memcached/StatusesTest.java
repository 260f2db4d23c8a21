package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockUnavailableException;
import org.junit.jupiter.api.Test;

/** The statuses that mean success, refusal or failure. */
final class StatusesTest {

    @Test
    void write_isDone_orHasTheAnswerThatItMayHave() {
        assertThat(Statuses.isDone(MemcacheStatus.OK, MemcacheStatus.ITEM_NOT_STORED))
                .isTrue();
        assertThat(Statuses.isDone(MemcacheStatus.ITEM_NOT_STORED, MemcacheStatus.ITEM_NOT_STORED))
                .isFalse();
    }

    /** For instance a server without memory: a waiter must not wait as if another client held the lock. */
    @Test
    void anyOtherAnswer_isNoNo() {
        for (MemcacheStatus other : MemcacheStatus.values()) {
            if (other != MemcacheStatus.OK && other != MemcacheStatus.ITEM_NOT_STORED) {
                assertThatThrownBy(() -> Statuses.isDone(other, MemcacheStatus.ITEM_NOT_STORED))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("answers " + other)
                        .hasMessageContaining("unknown");
            }
        }
    }
}
