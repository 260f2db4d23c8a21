package dev.holdfast.lock.memcached;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.ObservableClient;
import java.util.concurrent.atomic.AtomicLong;

/** Numbers a client's connections: the number rises when one ends, before the next one is made. Thread-safe. */
final class Connections implements ConnectionChangeListener {
    private final AtomicLong number = new AtomicLong();

    @Override
    public void connectionChanged(ObservableClient client) {
        number.incrementAndGet();
    }

    /** Read before a request whose answer is to be used only while its connection lasts. */
    long number() {
        return number.get();
    }

    boolean isStill(long connection) {
        return number.get() == connection;
    }
}
