package dev.holdfast.lock.cli;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Turns off {@code java.util.logging}, which some stores' clients use; its {@code LogManager} makes this on first use. */
public final class QuietLogging {

    /** Called by the {@code LogManager}, by reflection. */
    public QuietLogging() {
        Logger.getLogger("").setLevel(Level.OFF);
    }
}
