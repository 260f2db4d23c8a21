package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.spring.hold.LockedCalls;
import dev.holdfast.lock.spring.hold.RunningCalls;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Closes the application's elections and then its lock clients, its own ones among them, when the application ends: after the web
 * server and the executors have finished what they were doing, and before the connection factories and pools, through which the
 * locks are released, stop. So an instance that shuts down leaves no lock behind, and a leader resigns while it can still use
 * its store.
 *
 * <p>Spring stops from the highest phase to the lowest: the web server at {@code Integer.MAX_VALUE - 2048} and above, executors
 * and schedulers at half of {@code MAX_VALUE}, connection factories at 0, and destroys pools last. A context that is only
 * stopped or paused, and may start again, keeps its clients.
 */
final class LockClientLifecycle
        implements ApplicationContextAware,
                BeanPostProcessor,
                SmartInitializingSingleton,
                SmartLifecycle,
                ApplicationListener<ContextClosedEvent> {
    /** Below the executors, above all else. */
    static final int PHASE = Integer.MAX_VALUE / 4;

    private @Nullable ApplicationContext context;
    private volatile boolean instantiated;
    private volatile boolean running;
    private volatile boolean ending;

    @Override
    public void setApplicationContext(ApplicationContext context) {
        this.context = context;
    }

    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
        if (event.getApplicationContext() == context) {
            ending = true;
        }
    }

    /** Registers the application's listeners with all its clients. */
    @Override
    public void afterSingletonsInstantiated() {
        instantiated = true;
        List<LockListener> listeners = listeners();
        if (!listeners.isEmpty()) {
            forEach(LockClient.class, client -> listeners.forEach(client::addListener));
        }
    }

    /** The same for a client that is made on first use. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (instantiated && bean instanceof LockClient client) {
            listeners().forEach(client::addListener);
        }
        return bean;
    }

    private List<LockListener> listeners() {
        return Objects.requireNonNull(context, "setApplicationContext comes first")
                .getBeanProvider(LockListener.class)
                .orderedStream()
                .toList();
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        if (ending) {
            forEach(LockedCalls.class, LockedCalls::end);
            Set<String> elections = new HashSet<>();
            forEach(Election.class, election -> {
                election.close();
                elections.add(election.name());
            });
            forEach(LockClient.class, client -> close(client, elections));
        }
    }

    /** An election that is closed holds its lock only for a callback that still runs. */
    private static void close(LockClient client, Set<String> elections) {
        Set<String> left = RunningCalls.reportLeft(client);
        left.addAll(elections);
        client.closeExcept(left);
    }

    private <T> void forEach(Class<T> type, Consumer<T> action) {
        ConfigurableListableBeanFactory beans =
                (ConfigurableListableBeanFactory) Objects.requireNonNull(context, "setApplicationContext comes first")
                        .getAutowireCapableBeanFactory();
        for (String name : beans.getBeanNamesForType(type, true, false)) {
            if (beans.containsSingleton(name)) { // a lazy one that was never needed is not made now
                action.accept(beans.getBean(name, type));
            }
        }
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
