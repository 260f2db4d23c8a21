package dev.holdfast.lock.shedlock;

import dev.holdfast.lock.testkit.server.PostgresServer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

class PostgresProviderTest extends ProviderContract {
    private @Nullable PostgresServer server;

    @Override
    String start() throws Exception {
        PostgresServer started = PostgresServer.start();
        server = started;
        return started.url()
                + (started.url().contains("?") ? "&" : "?")
                + "user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD + "&holdfast.createTable=true";
    }

    @Override
    void stop() {
        Objects.requireNonNull(server).close();
    }
}
