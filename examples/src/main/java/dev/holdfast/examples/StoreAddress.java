package dev.holdfast.examples;

/** The one argument of each example. */
final class StoreAddress {

    private StoreAddress() {}

    /**
     * Returns the address of the lock store.
     *
     * @param arguments the arguments of the program
     * @return the first one
     * @throws IllegalArgumentException if there is not exactly one; the message shows two addresses
     */
    static String of(String[] arguments) {
        if (arguments.length != 1) {
            throw new IllegalArgumentException("give the address of the lock store as the only argument, such as"
                    + " jdbc:h2:mem:try or redis://localhost:6379; there were " + arguments.length + " arguments");
        }
        return arguments[0];
    }
}
