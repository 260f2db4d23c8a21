package dev.holdfast.lock.redis;

import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One server without TLS. */
public final class RedisFixture extends OneRedisFixture {
    private static final String PASSWORD = "canary-5ecret";

    private final String name;
    private final String login;
    private final UnaryOperator<RedisLocks.Builder> settings;

    private RedisFixture(String name, RedisServer server, String login, UnaryOperator<RedisLocks.Builder> settings)
            throws IOException {
        super(server, FaultProxy.to(server.process()));
        this.name =
                server.product() + server.image().map(image -> " in " + image).orElse("") + ", " + name;
        this.login = login;
        this.settings = settings;
    }

    /** A server that keeps its data and a user with the documented permissions only, with notified waiters. */
    public static RedisFixture notified() throws IOException, InterruptedException {
        return notified(ServerImage.chosen("redis").orElse(null));
    }

    /** The same on a given version. */
    public static RedisFixture notified(@Nullable ServerImage image) throws IOException, InterruptedException {
        return new RedisFixture(
                "standalone, ACL user, notified",
                persistent(image, Permissions.documented()),
                "locks:" + PASSWORD + "@",
                builder -> builder);
    }

    /** The same with polling waiters; the user must not publish or subscribe. */
    static RedisFixture polling() throws IOException, InterruptedException {
        return new RedisFixture(
                "standalone, ACL user, polling",
                persistent(ServerImage.chosen("redis").orElse(null), Permissions.withoutChannels()),
                "locks:" + PASSWORD + "@",
                builder -> builder.polling(Duration.ofMillis(20), Duration.ofMillis(200)));
    }

    private static RedisServer persistent(@Nullable ServerImage image, List<String> permissions)
            throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(
                List.of("--appendonly", "yes", "--appendfsync", "always", "--user", "locks", "on", ">" + PASSWORD));
        options.addAll(permissions);
        return RedisServer.start(image, options.toArray(String[]::new));
    }

    /** A server that writes nothing to disk, with notified waiters. */
    public static RedisFixture fast() throws IOException, InterruptedException {
        return new RedisFixture(
                "standalone without persistence, notified", RedisServer.start(), "", builder -> builder);
    }

    public String uri() {
        return uri(proxy());
    }

    private String uri(FaultProxy through) {
        return "redis://" + login + through.host() + ":" + through.port();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(proxies());
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        return settings.apply(
                        RedisLocks.builder(OwnedConnectionFactory.connect(uri(others.get(0)), Duration.ofSeconds(3))))
                .backend();
    }

    public List<?> list(String... command) throws IOException {
        return server().list(command);
    }
}
