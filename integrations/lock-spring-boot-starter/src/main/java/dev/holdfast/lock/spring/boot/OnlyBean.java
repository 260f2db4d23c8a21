package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import java.util.List;
import java.util.function.BiFunction;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;

/** Finds the one bean of a type, or the primary one. */
final class OnlyBean {
    private OnlyBean() {}

    static <T> BackendCandidate candidate(
            Backend backend,
            Class<T> type,
            ObjectProvider<T> provider,
            ListableBeanFactory beans,
            BiFunction<T, LockClientOptions, LockClient> open) {
        List<String> names = List.of(beans.getBeanNamesForType(type, true, false));
        return new BackendCandidate(backend, names, options -> {
            T only = provider.getIfUnique();
            if (only == null) {
                throw new StoreChoiceException(
                        "Several beans could lead to the store of the locks: the " + backend.beanType() + " "
                                + String.join(", ", names) + ".",
                        "Mark one of them @Primary, set holdfast.uri, or define a LockClient bean.");
            }
            return open.apply(only, options);
        });
    }
}
