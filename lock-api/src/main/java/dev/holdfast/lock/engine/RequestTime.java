package dev.holdfast.lock.engine;

/** The time just before a request was sent, from which a confirmed lease counts. */
record RequestTime(long nanos, long wallMillis) {

    static RequestTime now(Ticker ticker) {
        return new RequestTime(ticker.nanos(), ticker.wallMillis());
    }

    Validity validity(long leaseMillis) {
        return Validity.of(nanos, wallMillis, leaseMillis);
    }
}
