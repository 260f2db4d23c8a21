package dev.holdfast.lock.engine;

/** The clocks just before a request was sent: what its acknowledgement will count from. */
record RequestTime(long nanos, long wallMillis) {

    static RequestTime now(Ticker ticker) {
        return new RequestTime(ticker.nanos(), ticker.wallMillis());
    }

    Validity validity(long leaseMillis) {
        return Validity.of(nanos, wallMillis, leaseMillis);
    }
}
