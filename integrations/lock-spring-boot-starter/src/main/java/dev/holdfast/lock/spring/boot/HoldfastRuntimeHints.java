package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockProvider;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** What a native image has to keep: the backends on the class path with their providers, the schema files of lock-jdbc, and the scripts of lock-redis. */
final class HoldfastRuntimeHints implements RuntimeHintsRegistrar {
    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.resources().registerPattern("META-INF/services/" + LockProvider.class.getName());
        hints.resources().registerPattern("dev/holdfast/lock/jdbc/*.sql");
        hints.resources().registerPattern("dev/holdfast/lock/redis/internal/script/*.lua");
        hints.resources().registerPattern("dev/holdfast/lock/redis/internal/script/parts/*.lua");
        BackendCandidates.classes().forEach(name -> hints.reflection().registerTypeIfPresent(loader, name));
        hints.reflection()
                .registerTypeIfPresent(
                        loader,
                        "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
                        MemberCategory.INVOKE_DECLARED_METHODS); // RedisBackend calls createClient
        ServiceLoader.load(LockProvider.class, loader).stream()
                .forEach(provider ->
                        hints.reflection().registerType(provider.type(), MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
    }
}
