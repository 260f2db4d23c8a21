package dev.holdfast.lock.spi.support;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.text.Libraries;
import dev.holdfast.lock.text.Printable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Translates the failures of a store's client into the exceptions of the lock API. It unwraps failures, converts exceptions
 * thrown by a request into failed stages, and writes the messages. A backend supplies a function from a cause to its {@link
 * Remedy}.
 *
 * <p>A message reads {@code operation: observation; remedy}; the engine prepends the lock's name. A cause for which the
 * function returns null becomes a {@link LockUnavailableException}, since the outcome is unknown. A {@link LockException} is
 * returned unchanged. A {@link LinkageError} among the causes becomes a {@link LockConfigurationException} that names the
 * incompatible libraries; the function is not called.
 *
 * <p>Immutable and thread-safe, if the function is.
 */
public final class FailureTranslator {
    private static final int MAX_LINE_LENGTH = 300;
    private static final String TRY_AGAIN = "the outcome is unknown, try again";

    private final String store;
    private final Function<Throwable, @Nullable Remedy> remedies;

    /**
     * Creates a translator.
     *
     * @param store the store's name for messages, such as {@code Redis}
     * @param remedies receives an {@linkplain #unwrap unwrapped} failure and returns its meaning, or null if it does not
     *     recognise it; it may inspect the causes by {@link #causes}
     */
    public FailureTranslator(String store, Function<Throwable, @Nullable Remedy> remedies) {
        this.store = store;
        this.remedies = remedies;
    }

    /**
     * Translates a failure.
     *
     * @param operation the operation that failed, such as {@code release}; may be empty
     * @param failure the client's failure, possibly wrapped
     * @return an exception as required by {@link LockBackend}; the unwrapped failure is its cause
     */
    public RuntimeException translate(String operation, Throwable failure) {
        Throwable cause = unwrap(failure);
        if (cause instanceof LockException known) {
            return known;
        }
        Remedy remedy = remedy(cause);
        if (remedy instanceof Remedy.PassThrough passes) {
            return passes.failure();
        }
        String identity = operation.isEmpty() ? "" : operation + ": ";
        if (remedy instanceof Remedy.Configuration refused) {
            return new LockConfigurationException(identity + refused.observation() + "; " + refused.remedy(), cause);
        }
        Remedy.Unavailable unavailable = (Remedy.Unavailable) remedy;
        return new LockUnavailableException(identity + unavailable.observation() + "; " + unavailable.remedy(), cause);
    }

    private Remedy remedy(Throwable cause) {
        for (Throwable each : causes(cause)) {
            if (each instanceof LinkageError unlinked) {
                Libraries.Explanation why =
                        Libraries.explain(unlinked, remedies.getClass().getClassLoader());
                return new Remedy.Configuration(why.observation(), why.remedy());
            }
        }
        try {
            Remedy remedy = remedies.apply(cause);
            if (remedy != null) {
                return remedy;
            }
        } catch (Throwable e) { // if the function fails, the request must still complete
            if (e != cause) {
                cause.addSuppressed(e);
            }
        }
        if (cause instanceof TimeoutException) {
            return new Remedy.Unavailable("no answer from " + store + " in time", TRY_AGAIN);
        }
        return new Remedy.Unavailable("no usable answer from " + store + ": " + summary(cause), TRY_AGAIN);
    }

    /**
     * Translates a stage's failure.
     *
     * @param <T> the answer
     * @param operation the operation, for the message of a failure; may be empty
     * @param stage the client's answer
     * @return a future that completes like the stage, with a translated failure
     */
    public <T> CompletableFuture<T> translate(String operation, CompletionStage<T> stage) {
        CompletableFuture<T> result = new CompletableFuture<>();
        stage.whenComplete((value, failure) -> {
            if (failure == null) {
                result.complete(value);
            } else {
                result.completeExceptionally(translate(operation, failure));
            }
        });
        return result;
    }

    /**
     * Makes a request on this thread, for backends whose calls block, and translates its failure. A request that throws
     * {@link InterruptedException} must restore the thread's interrupt flag itself.
     *
     * @param <T> the answer
     * @param operation the operation, for the message of a failure; may be empty
     * @param request the request
     * @return a completed stage
     */
    public <T> CompletionStage<T> call(String operation, Callable<T> request) {
        try {
            return CompletableFuture.completedFuture(request.call());
        } catch (Exception e) {
            return CompletableFuture.failedFuture(translate(operation, e));
        }
    }

    /**
     * Makes a request and converts an exception that it throws into a failed stage, so that every request completes.
     *
     * @param <T> the answer
     * @param request the request
     * @return its stage, or a failed one
     */
    public static <T> CompletableFuture<T> guard(Callable<? extends CompletionStage<T>> request) {
        try {
            return request.call().toCompletableFuture();
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Removes the exceptions that stages and futures wrap around a failure.
     *
     * @param failure a failure
     * @return the first in its chain of causes that is neither a {@link CompletionException} nor an
     *     {@link ExecutionException} with a cause
     */
    public static Throwable unwrap(Throwable failure) {
        Throwable cause = failure;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    /**
     * Lists a failure and its causes.
     *
     * @param failure a failure
     * @return the {@linkplain #unwrap unwrapped} failure, its cause, and so on; each once, even if they form a cycle
     */
    public static List<Throwable> causes(Throwable failure) {
        List<Throwable> causes = new ArrayList<>();
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable cause = unwrap(failure); cause != null && seen.add(cause); cause = cause.getCause()) {
            causes.add(cause);
        }
        return causes;
    }

    /**
     * Summarises a failure and its root cause in one line. Many client exceptions report only that an operation failed, and
     * the reason is in the last cause.
     *
     * @param failure a failure
     * @return the first line of its message, followed by that of the last cause in parentheses if it differs
     */
    public static String summary(Throwable failure) {
        Throwable cause = unwrap(failure);
        String root = rootOf(cause);
        String own = oneLine(cause);
        return own.isEmpty() || own.contains(root) ? own.isEmpty() ? root : own : own + " (" + root + ")";
    }

    /** Returns the message of the last cause that has one. */
    static String rootOf(Throwable failure) {
        String root = "";
        for (Throwable cause : causes(failure)) {
            String text = oneLine(cause);
            if (!text.isEmpty()) {
                root = text;
            }
            if (cause instanceof UnknownHostException || cause instanceof UnresolvedAddressException) {
                return "unknown host";
            }
            if (cause instanceof ConnectException || cause instanceof CertificateException) {
                return text;
            }
        }
        return root.isEmpty() ? failure.getClass().getSimpleName() : root;
    }

    private static String oneLine(Throwable cause) {
        String message = Printable.messageOf(cause);
        if (message == null || message.isBlank()) {
            return cause instanceof IOException ? cause.getClass().getSimpleName() : "";
        }
        return Printable.of(message.strip().lines().findFirst().orElse(""), MAX_LINE_LENGTH);
    }
}
