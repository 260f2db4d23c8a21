package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.OnBusy;
import dev.holdfast.lock.spring.hold.LockCall;
import dev.holdfast.lock.spring.hold.LockedCalls;
import dev.holdfast.lock.spring.hold.ReactiveCalls;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.reactivestreams.Publisher;
import org.springframework.core.ReactiveAdapter;

/** Methods that return publishers. Only loaded where there is Reactor. */
final class LockedPublishers {
    private LockedPublishers() {}

    /** Returns what the method returns; each subscription acquires the lock and then runs the method. */
    static Object publisher(
            LockedMethod method,
            LockedCalls calls,
            Supplier<LockCall> call,
            Consumer<LockCall> onSkip,
            Supplier<MethodInvocation> invocation) {
        ReactiveAdapter adapter = Objects.requireNonNull(method.result().adapter());
        ReactiveCalls reactive = new ReactiveCalls(calls);
        Consumer<LockCall> skip = method.onBusy() == OnBusy.SKIP ? onSkip : null;
        ReactiveCalls.Body<Object> body =
                () -> (Publisher<Object>) adapter.toPublisher(invocation.get().proceed());
        return adapter.fromPublisher(
                adapter.isMultiValue() ? reactive.flux(call, body, skip) : reactive.mono(call, body, skip));
    }
}
