package dev.holdfast.lock.shedlock;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

class RedisProviderTest extends ProviderContract {
    private @Nullable RedisServer server;

    @Override
    String start() throws Exception {
        RedisServer started = RedisServer.start();
        server = started;
        return "redis://" + started.host() + ":" + started.port();
    }

    @Override
    void stop() {
        Objects.requireNonNull(server).close();
    }
}
