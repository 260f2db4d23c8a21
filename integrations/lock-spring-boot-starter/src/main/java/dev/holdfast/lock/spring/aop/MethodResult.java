package dev.holdfast.lock.spring.aop;

import java.lang.reflect.Method;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/**
 * What a method returns: for how long its lock is held, and what a skipped call returns. Immutable.
 *
 * @param kind how long the lock is held
 * @param adapter of a publisher, else null
 * @param nothing makes what a skipped call returns; null if the method cannot be skipped
 */
record MethodResult(
        Kind kind,
        @Nullable ReactiveAdapter adapter,
        @Nullable Supplier<@Nullable Object> nothing) {

    /** For how long the lock is held. */
    enum Kind {
        /** Until the method returns. */
        VALUE,
        /** Until the future is complete. */
        STAGE,
        /** While the publisher is subscribed to. */
        PUBLISHER
    }

    private static final boolean REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Mono", MethodResult.class.getClassLoader());

    /**
     * Looks at a method.
     *
     * @throws IllegalArgumentException if its lock could not be held until its work is over
     */
    static MethodResult of(Method method, Class<?> targetClass) {
        if (KotlinDetector.isSuspendingFunction(method)) {
            throw new IllegalArgumentException(
                    "it is a suspending function, whose end a proxy cannot see; call withLease or tryWithLease of lock-kotlin in it,"
                            + " or return a Mono or a CompletableFuture");
        }
        ResolvableType type = ResolvableType.forMethodReturnType(method, targetClass);
        Class<?> raw = type.resolve(method.getReturnType());
        if (CompletionStage.class.isAssignableFrom(raw)) {
            return stage(type, raw);
        }
        if (Future.class.isAssignableFrom(raw)) {
            throw new IllegalArgumentException(
                    "it returns a " + raw.getSimpleName() + ", whose end cannot be seen; return a CompletableFuture");
        }
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(raw);
        if (adapter != null) {
            if (!REACTOR) {
                throw new IllegalArgumentException("it returns a " + raw.getSimpleName()
                        + ", for which the lock needs Reactor; add io.projectreactor:reactor-core");
            }
            return new MethodResult(Kind.PUBLISHER, adapter, adapter.supportsEmpty() ? () -> null : null);
        }
        DeferredWork.refuse(type, raw);
        return new MethodResult(Kind.VALUE, null, nothing(method, raw));
    }

    private static MethodResult stage(ResolvableType type, Class<?> raw) {
        if (raw != CompletionStage.class && raw != CompletableFuture.class) {
            throw new IllegalArgumentException("it returns a " + raw.getSimpleName()
                    + ", which cannot be wrapped; return a CompletableFuture or CompletionStage");
        }
        Supplier<@Nullable Object> value =
                empty(type.as(CompletionStage.class).getGeneric().resolve(Object.class));
        return new MethodResult(
                Kind.STAGE, null, () -> CompletableFuture.completedFuture(value == null ? null : value.get()));
    }

    private static @Nullable Supplier<@Nullable Object> nothing(Method method, Class<?> raw) {
        if (raw == void.class || raw == Void.class) {
            return () -> null;
        }
        Supplier<@Nullable Object> empty = empty(raw);
        if (empty != null) {
            return empty;
        }
        return raw.isPrimitive() || ReturnNullness.isNonNull(method) ? null : () -> null;
    }

    private static @Nullable Supplier<@Nullable Object> empty(Class<?> raw) {
        if (raw == Optional.class) {
            return Optional::empty;
        } else if (raw == OptionalInt.class) {
            return OptionalInt::empty;
        } else if (raw == OptionalLong.class) {
            return OptionalLong::empty;
        } else if (raw == OptionalDouble.class) {
            return OptionalDouble::empty;
        }
        return null;
    }
}
