package dev.holdfast.lock.cli.process;

/** Signals as if they had been sent, without a process that gets them. Stateless. */
public final class GivenSignals {
    private GivenSignals() {}

    /** This one came before a program was there, while the calling thread waited; so that thread is interrupted. */
    public static Signals of(PosixSignal signal) {
        Signals signals = new Signals(Thread.currentThread(), true);
        signals.came(signal);
        return signals;
    }

    /** None came. */
    public static Signals none() {
        return new Signals(Thread.currentThread(), true);
    }
}
