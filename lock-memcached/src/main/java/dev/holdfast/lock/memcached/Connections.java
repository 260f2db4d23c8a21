package dev.holdfast.lock.memcached;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.ObservableClient;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers the connections of a client: the number increases when a connection ends, before the next one is made.
 * Thread-safe.
 */
final class Connections implements ConnectionChangeListener {
    private final AtomicLong number = new AtomicLong();

    @Override
    public void connectionChanged(ObservableClient client) {
        number.incrementAndGet();
    }

    /** The current number, to be read before a request whose answer is valid only on its connection. */
    long number() {
        return number.get();
    }

    boolean isStill(long connection) {
        return number.get() == connection;
    }
}
