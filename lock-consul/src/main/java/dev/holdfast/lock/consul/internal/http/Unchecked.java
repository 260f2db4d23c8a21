package dev.holdfast.lock.consul.internal.http;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;

/** Calls code with checked exceptions inside completion stages. */
public final class Unchecked {
    private Unchecked() {}

    public static <T> T run(Callable<T> call) {
        try {
            return call.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new CompletionException(e);
        }
    }
}
