package dev.holdfast.lock.memcached;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import com.spotify.folsom.MemcachedStats;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Items behind Folsom's interface, answered at once as memcached does, or as a test says. Requests come one after the other. */
final class ScriptedMemcached {
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final List<ConnectionChangeListener> listeners = new CopyOnWriteArrayList<>();
    private final Map<String, GetResult<byte[]>> items = new ConcurrentHashMap<>();
    private final Map<String, Queue<CompletionStage<?>>> instead = new ConcurrentHashMap<>();
    private final Map<String, String> stats = new ConcurrentHashMap<>(Map.of("time", "1009", "uptime", "9"));
    private final AtomicLong lastCas = new AtomicLong();
    private final MemcacheClient<byte[]> client;
    private int connections = 1;
    private volatile boolean shutDown;

    @SuppressWarnings("unchecked")
    ScriptedMemcached() {
        client = (MemcacheClient<byte[]>) Proxy.newProxyInstance(
                MemcacheClient.class.getClassLoader(),
                new Class<?>[] {MemcacheClient.class},
                (proxy, method, given) -> switch (method.getName()) {
                    case "add" -> add((String) given[0], (byte[]) given[1], (Integer) given[2]);
                    case "set" -> cas((String) given[0], (byte[]) given[1], (Integer) given[2], (Long) given[3]);
                    case "delete" -> delete((String) given[0], (Long) given[1]);
                    case "casGet" -> get(given[0]);
                    case "getStats" -> stats();
                    case "numTotalConnections" -> connections;
                    case "registerForConnectionChanges" -> {
                        listeners.add((ConnectionChangeListener) given[0]);
                        yield null;
                    }
                    case "unregisterForConnectionChanges" -> {
                        listeners.remove((ConnectionChangeListener) given[0]);
                        yield null;
                    }
                    case "shutdown" -> {
                        shutDown = true;
                        yield null;
                    }
                    case "toString" -> "a scripted memcached";
                    default -> throw new AssertionError(method.getName() + " is not planned");
                });
    }

    MemcacheClient<byte[]> client() {
        return client;
    }

    /**
     * The requests since the last call: {@code add KEY EXPIRY}, {@code cas KEY EXPIRY ID}, {@code delete KEY ID},
     * {@code get KEYS}.
     */
    List<String> asked() {
        List<String> all = List.copyOf(asked);
        asked.clear();
        return all;
    }

    /** Sets the answer to the next request of that kind, which is not executed. */
    void instead(String kind, CompletionStage<?> answer) {
        instead.computeIfAbsent(kind, any -> new ArrayDeque<>()).add(answer);
    }

    void instead(String kind, MemcacheStatus answer) {
        instead(kind, CompletableFuture.completedStage(answer));
    }

    void put(String key, byte[] value) {
        items.put(key, GetResult.success(value, lastCas.incrementAndGet()));
    }

    void put(String key, GetResult<byte[]> item) {
        items.put(key, item);
    }

    void remove(String key) {
        items.remove(key);
    }

    @Nullable GetResult<byte[]> item(String key) {
        return items.get(key);
    }

    /** What it reports as its clock. */
    void clock(String time, String uptime) {
        stats.put("time", time);
        stats.put("uptime", uptime);
    }

    private CompletionStage<?> stats() {
        CompletionStage<?> other = scripted("stats", "");
        return other != null
                ? other
                : CompletableFuture.completedStage(Map.of("h:1", new MemcachedStats(Map.copyOf(stats))));
    }

    void connections(int number) {
        connections = number;
    }

    boolean isShutDown() {
        return shutDown;
    }

    int listeners() {
        return listeners.size();
    }

    void reconnect() {
        listeners.forEach(listener -> listener.connectionChanged(client));
    }

    private @Nullable CompletionStage<?> scripted(String kind, String request) {
        asked.add(kind + " " + request);
        Queue<CompletionStage<?>> answers = instead.get(kind);
        return answers == null ? null : answers.poll();
    }

    private CompletionStage<?> add(String key, byte[] value, int expiry) {
        CompletionStage<?> other = scripted("add", key + " " + expiry);
        if (other != null) {
            return other;
        }
        boolean absent = !items.containsKey(key);
        if (absent) {
            put(key, value);
        }
        return CompletableFuture.completedStage(absent ? MemcacheStatus.OK : MemcacheStatus.ITEM_NOT_STORED);
    }

    private CompletionStage<?> cas(String key, byte[] value, int expiry, long id) {
        CompletionStage<?> other = scripted("cas", key + " " + expiry + " " + id);
        return other != null ? other : change(key, id, () -> put(key, value));
    }

    private CompletionStage<?> delete(String key, long id) {
        CompletionStage<?> other = scripted("delete", key + " " + id);
        return other != null ? other : change(key, id, () -> items.remove(key));
    }

    private CompletionStage<MemcacheStatus> change(String key, long id, Runnable change) {
        GetResult<byte[]> item = items.get(key);
        if (item == null) {
            return CompletableFuture.completedStage(MemcacheStatus.KEY_NOT_FOUND);
        }
        if (item.getCas() != id) {
            return CompletableFuture.completedStage(MemcacheStatus.KEY_EXISTS);
        }
        change.run();
        return CompletableFuture.completedStage(MemcacheStatus.OK);
    }

    private CompletionStage<?> get(Object what) {
        if (!(what instanceof List<?> keys)) {
            CompletionStage<?> other = scripted("get", (String) what);
            return other != null ? other : CompletableFuture.completedStage(items.get(what));
        }
        List<String> names = keys.stream().map(String.class::cast).toList();
        CompletionStage<?> other = scripted("get", String.join(" ", names));
        List<@Nullable GetResult<byte[]>> found = new ArrayList<>();
        names.forEach(name -> found.add(items.get(name)));
        return other != null ? other : CompletableFuture.completedStage(found);
    }
}
