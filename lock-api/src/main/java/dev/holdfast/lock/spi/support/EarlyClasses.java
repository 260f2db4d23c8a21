package dev.holdfast.lock.spi.support;

/**
 * Initializes classes when a client starts. A class whose initialization fails cannot be used any more (section 5.5 of the Java
 * Virtual Machine Specification). If an enum that only a loss needs were first used while the heap is full, then leases could not
 * end for as long as the process lives.
 */
public final class EarlyClasses {
    private EarlyClasses() {}

    /**
     * Initializes classes in the given order. One that does not exist is left out: it may have been removed as unused, or there is
     * no look-up by name, as in a native image.
     *
     * @param near a class in the package that the names begin at; its loader is used
     * @param names such as {@code internal.Reason}
     * @throws OutOfMemoryError if there is no memory for them: this process cannot start a client any more
     */
    public static void initialize(Class<?> near, String... names) {
        for (String name : names) {
            try {
                Class.forName(near.getPackageName() + '.' + name, true, near.getClassLoader());
            } catch (ClassNotFoundException e) {
                // what needs it, reports it
            }
        }
    }
}
