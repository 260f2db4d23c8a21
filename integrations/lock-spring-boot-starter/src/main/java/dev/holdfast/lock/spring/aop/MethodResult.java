package dev.holdfast.lock.spring.aop;

import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.Nullness;
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
    private static final boolean READS_NULLNESS =
            ClassUtils.isPresent("org.springframework.core.Nullness", MethodResult.class.getClassLoader());

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
        return raw.isPrimitive() || READS_NULLNESS && Spring7.isNonNull(method) ? null : () -> null;
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

    /** What a method's annotations say about null. Only loaded where there is Spring 7; before, nothing is known. */
    private static final class Spring7 {
        static boolean isNonNull(Method method) {
            return Nullness.forMethodReturnType(method) == Nullness.NON_NULL;
        }
    }

    /** Results whose work is done when the method has returned, by whoever gets them: the caller, or Spring MVC on another thread. */
    private static final class DeferredWork {
        /** By name, since most are optional; subtypes count too. */
        private static final Set<String> TYPES = Set.of(
                "java.util.concurrent.Callable",
                "java.util.concurrent.Flow$Publisher",
                "java.util.stream.BaseStream",
                "kotlin.sequences.Sequence",
                "kotlinx.coroutines.Job",
                "kotlinx.coroutines.flow.Flow",
                "org.reactivestreams.Publisher",
                "org.springframework.web.context.request.async.DeferredResult",
                "org.springframework.web.context.request.async.WebAsyncTask",
                "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
                "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

        private static final String ENTITY = "org.springframework.http.HttpEntity";

        private DeferredWork() {}

        /**
         * Refuses such a result; of a publisher too, which is to be called only if there is no adapter for it.
         *
         * @throws IllegalArgumentException if the lock would be released before the work begins
         */
        static void refuse(ResolvableType type, Class<?> raw) {
            Set<String> names = names(raw);
            if (names.stream().anyMatch(TYPES::contains)) {
                throw new IllegalArgumentException("it returns a " + raw.getSimpleName()
                        + ", whose work begins after the method has returned; return its result, or a CompletableFuture, or lock"
                        + " within that work with "
                        + (isOfCoroutines(names) ? "withLease of lock-kotlin" : "LockTemplate"));
            }
            if (names.contains(ENTITY)) {
                Class<?> body = type.getGeneric().resolve(Object.class);
                refuse(type.getGeneric(), body);
            }
        }

        private static boolean isOfCoroutines(Set<String> names) {
            return names.stream().anyMatch(name -> name.startsWith("kotlinx.coroutines."));
        }

        private static Set<String> names(Class<?> raw) {
            Set<String> names = new HashSet<>();
            for (Class<?> type = raw; type != null; type = type.getSuperclass()) {
                names.add(type.getName());
            }
            LockedSearch.interfaces(raw).forEach(type -> names.add(type.getName()));
            return names;
        }
    }
}
