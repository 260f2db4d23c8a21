package dev.holdfast.chaos.client;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.fault.ForwardingClient;

/** A client whose close also ends what it was made from. As thread-safe as what it wraps. */
final class ClosingClient extends ForwardingClient {
    private final Runnable after;

    ClosingClient(LockClient delegate, Runnable after) {
        super(delegate);
        this.after = after;
    }

    @Override
    public void close() {
        try {
            super.close();
        } finally {
            after.run();
        }
    }
}
