package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import java.util.List;
import java.util.function.Function;

/**
 * A store that the application has already.
 *
 * @param backend the module that can use it
 * @param beans the names of the beans that lead to it
 * @param open connects
 */
record BackendCandidate(Backend backend, List<String> beans, Function<LockClientOptions, LockClient> open) {

    /** What a message calls it. */
    String title() {
        return backend.property() + " (" + backend.module() + " with the " + backend.beanType() + " "
                + String.join(", ", beans) + ")";
    }
}
