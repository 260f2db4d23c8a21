package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.NamedLockOptions;
import dev.holdfast.lock.spring.OnBusy;
import dev.holdfast.lock.spring.SkippedCallEvent;
import dev.holdfast.lock.spring.hold.LockCall;
import dev.holdfast.lock.spring.hold.LockInterruptedException;
import dev.holdfast.lock.spring.hold.LockedCalls;
import dev.holdfast.lock.spring.hold.ReactiveCalls;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.ReactiveAdapter;
import org.springframework.util.function.SingletonSupplier;

/** Runs annotated methods with their locks. Thread-safe. */
final class LockedInterceptor implements MethodInterceptor {
    private static final Logger LOG = LoggerFactory.getLogger(LockedInterceptor.class);

    private final LockedMethods methods;
    private final ConfigurableListableBeanFactory beans;
    private final Supplier<LockedCalls> calls;
    private final Supplier<LockedAdvisor.Defaults> defaults;
    private final Map<String, LockClient> clients = new ConcurrentHashMap<>();
    private final Map<OptionsOfClient, LockOptions> options = new ConcurrentHashMap<>();

    /** What options depend on: not the method, which a class may have from its base with another annotation. */
    private record OptionsOfClient(LockedMethod.Options source, String client) {}

    LockedInterceptor(LockedMethods methods, ConfigurableListableBeanFactory beans) {
        this.methods = methods;
        this.beans = beans;
        calls = SingletonSupplier.of(() -> beans.getBean(LockedCalls.class));
        defaults = SingletonSupplier.of(() -> beans.getBean(LockedAdvisor.Defaults.class));
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        LockedMethod method = methods.find(
                invocation.getMethod(),
                target == null ? invocation.getMethod().getDeclaringClass() : target.getClass());
        if (method == null) {
            return invocation.proceed();
        }
        try {
            return switch (method.result().kind()) {
                case VALUE -> {
                    LockCall call = call(method, invocation.getArguments());
                    yield calls.get().call(call, lease -> invocation.proceed(), () -> busy(method, call));
                }
                case STAGE -> {
                    LockCall call = call(method, invocation.getArguments());
                    yield calls.get().stage(call, lease -> invocation.proceed(), () ->
                            (CompletableFuture<?>) busy(method, call));
                }
                case PUBLISHER ->
                    Publishers.publisher(
                            method,
                            calls.get(),
                            () -> call(method, invocation.getArguments()),
                            call -> skipped(method, call),
                            ((ProxyMethodInvocation) invocation)::invocableClone);
            };
        } catch (LockInterruptedException e) {
            throw declared(method, e);
        }
    }

    /** Returns the lock that a call wants; throws before any request if it has no name. */
    private LockCall call(LockedMethod method, @Nullable Object[] arguments) {
        LockClient client = client(method.client());
        String name = method.name().evaluate(arguments);
        LockedAdvisor.Defaults common = defaults.get();
        Duration wait = method.waitFor() == null ? common.waitFor() : method.waitFor();
        return new LockCall(
                client,
                method.options().isEmpty() ? client.lock(name) : client.lock(name, options(method, client, name)),
                wait,
                method.caller());
    }

    private LockOptions options(LockedMethod method, LockClient client, String name) {
        LockedMethod.Options source = method.options();
        OptionsOfClient key = new OptionsOfClient(source, method.client());
        LockOptions known = options.get(key);
        if (known == null) {
            known = source.options(
                    source.id().isEmpty()
                            ? client.lock(name).options()
                            : beans.getBean(NamedLockOptions.class).get(source.id()));
            options.put(key, known);
        }
        return known;
    }

    private LockClient client(String name) {
        return clients.computeIfAbsent(
                name,
                any -> name.isEmpty()
                        ? beans.getBean(LockClient.class)
                        : BeanFactoryAnnotationUtils.qualifiedBeanOfType(beans, LockClient.class, name));
    }

    /**
     * Refuses options and clients that there are not. Asks no server.
     *
     * @throws RuntimeException if so
     */
    void check(LockedMethod method) {
        List<String> names =
                List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, LockClient.class, true, false));
        boolean missing = method.client().isEmpty()
                ? names.isEmpty()
                : names.stream()
                        .noneMatch(name ->
                                BeanFactoryAnnotationUtils.isQualifierMatch(method.client()::equals, name, beans));
        if (missing) {
            throw new IllegalArgumentException("there is no LockClient "
                    + (method.client().isEmpty() ? "bean" : "'" + method.client() + "', but " + names)
                    + "; set holdfast.uri or define one");
        }
        String id = method.options().id();
        if (!id.isEmpty()) {
            method.options().options(beans.getBean(NamedLockOptions.class).get(id));
        }
        if (names.stream().allMatch(beans::containsSingleton)) { // a lazy client stays so
            client(method.client()).lock("check", options(method, client(method.client()), "check"));
        }
    }

    private @Nullable Object busy(LockedMethod method, LockCall call) {
        Supplier<@Nullable Object> nothing = method.result().nothing();
        if (method.onBusy() == OnBusy.THROW || nothing == null) {
            throw call.busy();
        }
        skipped(method, call);
        return nothing.get();
    }

    private void skipped(LockedMethod method, LockCall call) {
        LOG.debug("{}: skipped, another holder has the lock", call);
        try {
            defaults.get().onSkip().accept(new SkippedCallEvent(call.lock().name(), method.method()));
        } catch (RuntimeException e) {
            LOG.warn("{}: a listener failed after the call was skipped", call, e);
        }
    }

    /** A method that declares to be interruptible gets the interrupt as it was, with the flag cleared. */
    private static Throwable declared(LockedMethod method, LockInterruptedException e) {
        Throwable interrupt = e.getCause();
        boolean declared = Arrays.stream(method.method().getExceptionTypes())
                .anyMatch(type -> type.isAssignableFrom(InterruptedException.class));
        if (declared && interrupt != null) {
            Thread.interrupted();
            return interrupt;
        }
        return e;
    }

    /** Methods that return publishers. Only loaded where there is Reactor. */
    private static final class Publishers {
        private Publishers() {}

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
            ReactiveCalls.Body<Object> body = () ->
                    (Publisher<Object>) adapter.toPublisher(invocation.get().proceed());
            return adapter.fromPublisher(
                    adapter.isMultiValue() ? reactive.flux(call, body, skip) : reactive.mono(call, body, skip));
        }
    }
}
