package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The floor of the tokens, which client sets it, and which values are refused. */
final class ClockFloorTest {
    private static final LockItem NEW = new LockItem("", 0, 0, "");

    private final ScriptedMemcached memcached = new ScriptedMemcached();
    private final ClockFloor floor = new ClockFloor(memcached.client(), new MemcachedKeys("p"));

    private ClockFloor.Read read() {
        return BackendDriver.answer(floor.readWith("p:n"));
    }

    private static long nowMicros() {
        return TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
    }

    @Test
    void floorThatIsMissing_isSetToTheWallClock_andReadAgain() {
        memcached.put("p:n", "x".getBytes(UTF_8));
        long before = nowMicros();
        ClockFloor.Read read = read();

        assertThat(read.floor()).isBetween(before, nowMicros());
        assertThat(read.token(NEW)).isEqualTo(read.floor() + 1);
        assertThat(memcached.asked()).containsExactly("get p:n p:~floor", "add p:~floor 0", "get p:n p:~floor");
        assertThat(read()).as("the same for all clients").isEqualTo(read);
        assertThat(memcached.asked()).hasSize(1);
    }

    @Test
    void nobodysLock_needsNoFloor() {
        assertThat(read()).isEqualTo(new ClockFloor.Read(null, 0));
        assertThat(memcached.asked()).containsExactly("get p:n p:~floor");
    }

    @Test
    void floorThatGoesAtOnce_isSetThreeTimes() {
        memcached.put("p:n", "x".getBytes(UTF_8));
        for (int i = 0; i < 10; i++) {
            memcached.instead("add", MemcacheStatus.OK);
        }
        assertThatThrownBy(this::read)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("evicts items as soon as they are stored");
        assertThat(memcached.asked())
                .filteredOn(request -> request.startsWith("add"))
                .hasSize(3);
    }

    @Test
    void whatIsNoFloor_isRefused() {
        memcached.put("p:n", "x".getBytes(UTF_8));
        for (String other : List.of("hello", "", "-1", "12345678901234567")) {
            memcached.put("p:~floor", other.getBytes(UTF_8));
            assertThatThrownBy(this::read)
                    .as(other)
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("the key of the clock floor holds something else")
                    .hasMessageContaining("another prefix");
        }
        memcached.put("p:~floor", "1234567890123456".getBytes(UTF_8));
        assertThat(read().floor()).isEqualTo(1_234_567_890_123_456L);
        memcached.put("p:n", GetResult.success("x".getBytes(UTF_8), 0));
        assertThatThrownBy(this::read)
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("gives no cas ids; start it without -C");
    }

    @Test
    void token_isThatOfTheItem_orFloorAndCasId() {
        GetResult<byte[]> item = GetResult.success(new byte[0], 7);
        assertThat(new ClockFloor.Read(item, 1_000).token(NEW)).isEqualTo(1_007);
        assertThat(new ClockFloor.Read(item, 1_000).token(NEW.withToken(42))).isEqualTo(42);
        assertThat(new ClockFloor.Read(item, 1_000).token(NEW.withToken(1))).isEqualTo(1);
    }
}
