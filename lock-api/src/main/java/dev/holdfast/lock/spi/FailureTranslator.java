package dev.holdfast.lock.spi;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
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
 * Turns the failures of a store's client into the exceptions of the lock API. It unwraps them, turns what a request throws
 * into a failed stage, and writes the messages; a backend supplies a function from a cause to its {@link Remedy}.
 *
 * <p>A message reads {@code operation: observation; remedy}; the engine puts the lock's name before it. A cause that the
 * function does not know becomes a {@link LockUnavailableException}, since the outcome is unknown. A
 * {@link LockException} passes as it is. A {@link LinkageError} among the causes becomes a {@link LockConfigurationException}
 * that names the libraries that do not fit together; the function is not asked.
 *
 * <p>Immutable and thread-safe, if the function is.
 */
public final class FailureTranslator {
    private static final int LONGEST_LINE = 300;
    private static final String TRY_AGAIN = "the outcome is unknown, try again";

    private final String store;
    private final Function<Throwable, @Nullable Remedy> remedies;

    /**
     * Creates a translator.
     *
     * @param store the store's name for messages, such as {@code Redis}
     * @param remedies gets an {@linkplain #unwrap unwrapped} failure and returns what it means, or null if it does not know;
     *     looks deeper by {@link #causes}
     */
    public FailureTranslator(String store, Function<Throwable, @Nullable Remedy> remedies) {
        this.store = store;
        this.remedies = remedies;
    }

    /**
     * Translates a failure.
     *
     * @param operation what failed, such as {@code release}; may be empty
     * @param failure the client's failure, possibly wrapped
     * @return what {@link LockBackend} asks for; the unwrapped failure is its cause
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
        } catch (Throwable e) { // a fault of the function must not leave the request without an end
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
     * @param operation what fails if it does; may be empty
     * @param stage the client's answer
     * @return completes as the stage does, but for the failure
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
     * Makes a request on this thread, for backends whose calls block, and translates its failure. For an
     * {@link InterruptedException}, the request sets the thread's interrupt flag again before it throws; this does not.
     *
     * @param <T> the answer
     * @param operation what fails if it does; may be empty
     * @param request the request
     * @return has ended
     */
    public <T> CompletionStage<T> call(String operation, Callable<T> request) {
        try {
            return CompletableFuture.completedFuture(request.call());
        } catch (Exception e) {
            return CompletableFuture.failedFuture(translate(operation, e));
        }
    }

    /**
     * Makes a request; what it throws becomes a failed stage, so that no request is left without an end.
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
     * Takes off what stages and futures wrap around a failure.
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
     * @return the {@linkplain #unwrap unwrapped} failure, its cause, and so on; each once, though they form a circle
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
     * Returns what a failure says and what it comes down to, in one line: many a client's exception says no more than that
     * something failed, and its last cause why.
     *
     * @param failure a failure
     * @return the first line of its message, and the last cause's in parentheses if that says something else
     */
    public static String summary(Throwable failure) {
        Throwable cause = unwrap(failure);
        String root = rootOf(cause);
        String own = oneLine(cause);
        return own.isEmpty() || own.contains(root) ? own.isEmpty() ? root : own : own + " (" + root + ")";
    }

    /** What the last of the causes says that says anything. */
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
        String message = cause.getMessage();
        if (message == null || message.isBlank()) {
            return cause instanceof IOException ? cause.getClass().getSimpleName() : "";
        }
        return Printable.of(message.strip().lines().findFirst().orElse(""), LONGEST_LINE);
    }
}
