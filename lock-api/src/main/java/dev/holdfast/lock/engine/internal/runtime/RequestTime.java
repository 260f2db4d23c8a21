package dev.holdfast.lock.engine.internal.runtime;

/** The time just before a request was sent, from which a confirmed lease counts. */
public record RequestTime(long nanos, long wallMillis) {

    public static RequestTime now(Ticker ticker) {
        return new RequestTime(ticker.nanos(), ticker.wallMillis());
    }

    public Validity validity(long leaseMillis) {
        return Validity.of(nanos, wallMillis, leaseMillis);
    }
}
