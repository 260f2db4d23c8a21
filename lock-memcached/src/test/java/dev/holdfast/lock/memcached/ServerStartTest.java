package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.spotify.folsom.GetResult;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What tokens are relative to: read once for each connection, and never from two runs of the server. */
final class ServerStartTest {
    private static final LockItem NEW = new LockItem("", 0, 0, "");

    private final ScriptedMemcached memcached = new ScriptedMemcached();
    private final ConnectionCounter connections = new ConnectionCounter();
    private final ServerStart start = new ServerStart(memcached.client(), connections);

    private ServerStart.Run run() {
        return BackendDriver.answer(start.of(connections.number()));
    }

    @Test
    void start_isTimeLessUptime_readOnceForEachConnection() {
        assertThat(run()).isEqualTo(new ServerStart.Run(0, 1_000_000_000));
        run();
        assertThat(memcached.asked()).containsExactly("stats ");

        memcached.clock("1050", "5");
        connections.connectionChanged(memcached.client());
        assertThat(run()).isEqualTo(new ServerStart.Run(1, 1_045_000_000));
    }

    /** A server that starts twice in one second would give tokens twice. */
    @Test
    void serverThatHasJustStarted_isAskedAgain() throws Exception {
        memcached.clock("1003", "3");
        CompletableFuture<ServerStart.Run> run = start.of(0).toCompletableFuture();
        assertThat(run).isNotDone();
        memcached.clock("1004", "4");
        assertThat(run.get().startMicros()).isEqualTo(1_000_000_000);
        assertThat(memcached.asked()).hasSizeGreaterThan(1).containsOnly("stats ");
    }

    @Test
    void answerOverAReconnect_isUnknown() {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        memcached.instead("stats", answer);
        CompletableFuture<ServerStart.Run> run = start.of(0).toCompletableFuture();
        connections.connectionChanged(memcached.client());
        answer.complete(Map.of("h:1", new com.spotify.folsom.MemcachedStats(Map.of("time", "1009", "uptime", "9"))));
        assertThatThrownBy(() -> BackendDriver.answer(run)).isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void serverThatDoesNotReportIt_isRefused() {
        for (List<String> clock : List.of(List.of("", "9"), List.of("1009", "x"), List.of("-1", "9"))) {
            memcached.clock(clock.get(0), clock.get(1));
            assertThatThrownBy(this::run)
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("does not report when it started");
        }
        memcached.instead("stats", CompletableFuture.completedStage(Map.of()));
        assertThatThrownBy(this::run).isInstanceOf(LockConfigurationException.class);
    }

    @Test
    void token_isThatOfTheItem_orStartAndCasId() {
        GetResult<byte[]> item = GetResult.success(new byte[0], 7);
        ServerStart.Run run = new ServerStart.Run(0, 1_000);
        assertThat(run.token(NEW, item)).isEqualTo(1_007);
        assertThat(run.token(NEW.withToken(42), item)).isEqualTo(42);
        assertThat(run.token(NEW.withToken(1), item)).isEqualTo(1);
        assertThatThrownBy(() -> run.token(NEW, GetResult.success(new byte[0], 0)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("gives no cas ids; start it without -C");
    }
}
