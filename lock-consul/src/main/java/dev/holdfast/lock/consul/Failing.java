package dev.holdfast.lock.consul;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;

/** Calls code with checked exceptions inside completion stages. */
final class Failing {
    private Failing() {}

    static <T> T run(Callable<T> call) {
        try {
            return call.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new CompletionException(e);
        }
    }
}
