package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.Election;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.SmartLifecycle;

/**
 * Lets the application's elections stand while its context runs: from the end of the start, after the web server, until it is stopped,
 * paused or closed, before all else. An election that is made earlier waits. Thread-safe.
 */
final class ElectionLifecycle implements SmartLifecycle, BeanPostProcessor {
    private final List<Election> elections = new CopyOnWriteArrayList<>();
    private volatile boolean running;

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof Election election) {
            elections.add(election);
            if (!running) {
                election.suspend();
            }
        }
        return bean;
    }

    @Override
    public void start() {
        running = true;
        elections.forEach(Election::resume);
    }

    @Override
    public void stop() {
        running = false;
        elections.forEach(Election::suspend);
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return Integer.MAX_VALUE;
    }
}
