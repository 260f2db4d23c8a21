package dev.holdfast.lock.spring.aop;

import java.util.HashSet;
import java.util.Set;
import org.springframework.core.ResolvableType;

/** Results whose work is done when the method has returned, by whoever gets them: the caller, or Spring MVC on another thread. */
final class DeferredWork {
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
        BeanClasses.interfaces(raw).forEach(type -> names.add(type.getName()));
        return names;
    }
}
