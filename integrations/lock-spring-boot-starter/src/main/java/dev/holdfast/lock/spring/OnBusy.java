package dev.holdfast.lock.spring;

/** What an annotated method does if another holder has its lock when its wait is over. */
public enum OnBusy {
    /** Throws {@link dev.holdfast.lock.LockTimeoutException}. */
    THROW,
    /**
     * Does not run, and returns nothing: an empty {@code Optional} or publisher, a completed future, or null. A method whose result
     * cannot be nothing, such as an {@code int}, is refused when the application starts. The same once the application ends and has
     * closed the client.
     */
    SKIP
}
