package dev.holdfast.lock.engine;

/** The clocks of the engine; tests replace them. */
interface Ticker {

    /** The clocks of this machine. */
    Ticker SYSTEM = new Ticker() {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public long wallMillis() {
            return System.currentTimeMillis();
        }
    };

    /** Monotonic nanoseconds of arbitrary origin; only differences are meaningful. */
    long nanos();

    /** Wall-clock milliseconds; only used to end a lease earlier, see {@link Validity}. */
    long wallMillis();
}
