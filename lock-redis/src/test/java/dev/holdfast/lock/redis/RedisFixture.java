package dev.holdfast.lock.redis;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.Capability;
import dev.holdfast.lock.testkit.LockFixture;
import dev.holdfast.lock.testkit.server.FaultProxy;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.ServerImage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One server behind a proxy. */
final class RedisFixture implements LockFixture {
    private static final String PASSWORD = "canary-5ecret";

    private final String name;
    private final RedisServer server;
    private final FaultProxy proxy;
    private final String login;
    private final UnaryOperator<RedisLocks.Builder> settings;

    private RedisFixture(String name, RedisServer server, String login, UnaryOperator<RedisLocks.Builder> settings)
            throws IOException {
        this.name =
                server.product() + server.image().map(image -> " in " + image).orElse("") + ", " + name;
        this.server = server;
        this.proxy = FaultProxy.to(server.process());
        this.login = login;
        this.settings = settings;
    }

    /** A server that keeps its data and a user with the documented permissions only, with notified waiters. */
    static RedisFixture notified() throws IOException, InterruptedException {
        return notified(ServerImage.chosen("redis").orElse(null));
    }

    /** The same on a given version. */
    static RedisFixture notified(@Nullable ServerImage image) throws IOException, InterruptedException {
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
    static RedisFixture fast() throws IOException, InterruptedException {
        return new RedisFixture(
                "standalone without persistence, notified", RedisServer.start(), "", builder -> builder);
    }

    RedisServer server() {
        return server;
    }

    FaultProxy proxy() {
        return proxy;
    }

    String uri() {
        return "redis://" + login + proxy.host() + ":" + proxy.port();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockBackend newBackend() {
        return settings.apply(RedisLocks.builder(OwnRedisSource.connect(uri(), Duration.ofSeconds(3))))
                .backend();
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.allOf(Capability.class);
    }

    /** As an administrator who does not wait for the holder: the lock and the guard of its record. */
    @Override
    public void expire(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        server.command("DEL", keys.lock(), keys.record());
    }

    @Override
    public long entries(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        return server.number("EXISTS", keys.lock())
                + server.number("ZCARD", keys.queue())
                + server.number("HLEN", keys.waiters());
    }

    @Override
    public void pause() {
        server.process().pause();
    }

    @Override
    public void resume() {
        server.process().resume();
    }

    @Override
    public void restart() throws Exception {
        server.process().restart();
    }

    @Override
    public void partition() {
        proxy.cut();
    }

    @Override
    public void heal() {
        proxy.pass();
    }

    @Override
    public long commands() throws IOException {
        return server.lockCommands();
    }

    List<?> list(String... command) throws IOException {
        return server.list(command);
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
    }
}
