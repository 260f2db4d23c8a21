package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** Curator's recipes, with an object for each thread, or one that the threads share. */
final class CuratorMutex implements Candidate {
    private final String name;
    private final boolean shared;
    private final BiFunction<CuratorFramework, String, InterProcessLock> kind;

    private CuratorMutex(String name, boolean shared, BiFunction<CuratorFramework, String, InterProcessLock> kind) {
        this.name = name;
        this.shared = shared;
        this.kind = kind;
    }

    static CuratorMutex mutex() {
        return new CuratorMutex("curator-mutex", false, InterProcessMutex::new);
    }

    static CuratorMutex sharedMutex() {
        return new CuratorMutex("curator-mutex-shared", true, InterProcessMutex::new);
    }

    static CuratorMutex semaphoreMutex() {
        return new CuratorMutex("curator-semaphore", false, InterProcessSemaphoreMutex::new);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Duration outlives() {
        return Duration.ofSeconds(40);
    }

    @Override
    public boolean representative() {
        return name.equals("curator-mutex");
    }

    @Override
    public Session open(String address) throws Exception {
        CuratorFramework client = CuratorClients.open(address);
        Map<String, InterProcessLock> locks = new ConcurrentHashMap<>();
        return new Session() {
            @Override
            public NamedLock lock(String lockName) {
                String path = "/" + CuratorMutex.this.name + "/" + lockName;
                return new CuratorReadWrite.Recipe(
                        shared ? locks.computeIfAbsent(path, at -> kind.apply(client, at)) : kind.apply(client, path));
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }
}
