package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.LockException;

/** The thread was interrupted while it waited for a lock; its interrupt flag is set again. The cause is the interrupt. */
public final class LockInterruptedException extends LockException {
    private static final long serialVersionUID = 1L;

    LockInterruptedException(String message, InterruptedException cause) {
        super(message, cause);
    }
}
