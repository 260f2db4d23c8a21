package dev.holdfast.lock.engine;

/** The clocks just before a request was sent: what its acknowledgement will count from. */
record Sent(long nanos, long wallMillis) {

    static Sent now(Ticker ticker) {
        return new Sent(ticker.nanos(), ticker.wallMillis());
    }

    Validity validity(long leaseMillis) {
        return Validity.of(nanos, wallMillis, leaseMillis);
    }
}
