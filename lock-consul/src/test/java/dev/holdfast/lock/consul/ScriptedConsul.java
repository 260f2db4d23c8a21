package dev.holdfast.lock.consul;

import dev.holdfast.lock.consul.internal.http.FakeAgent;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An agent that grants all requests, finds no key, and gives other answers if a test sets them. Thread-safe. */
public final class ScriptedConsul implements FakeAgent.Answers {
    private static final Pattern LOCKED = Pattern.compile("\"Verb\":\"lock\",\"Key\":\"([^\"]*)\"");

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final Map<String, Queue<String>> instead = new ConcurrentHashMap<>();
    private final Map<String, String> always = new ConcurrentHashMap<>();
    private final AtomicLong sessions = new AtomicLong();
    private final AtomicLong index = new AtomicLong(100);

    /**
     * Answers the next requests of that kind so, one answer each.
     *
     * @param kind {@code create}, {@code renew}, {@code destroy}, or of a transaction: {@code read}, {@code attempt},
     *     {@code epoch}, {@code delete}, {@code check}
     */
    public void instead(String kind, String... answers) {
        instead.computeIfAbsent(kind, any -> new ConcurrentLinkedQueue<>()).addAll(List.of(answers));
    }

    /** Sets the answer to all further requests of that kind. */
    public void always(String kind, String answer) {
        always.put(kind, answer);
    }

    /** The requests since the last call: the kind, the path and the body of each. */
    public List<String> asked() {
        List<String> all = List.copyOf(asked);
        asked.clear();
        return all;
    }

    /** The number of these requests. */
    public int size() {
        return asked.size();
    }

    /** Whether any of those was of that kind. */
    public boolean has(String kind) {
        return asked.stream().anyMatch(each -> each.startsWith(kind + " "));
    }

    /** The kinds alone. */
    public List<String> kinds() {
        return asked().stream()
                .map(each -> each.substring(0, each.indexOf(' ')))
                .toList();
    }

    /** The answer to a transaction of which one operation is refused. */
    public static String refused(int operation, String what) {
        return "409 {\"Errors\":[{\"OpIndex\":" + operation + ",\"What\":\"" + what.replace("\"", "\\\"") + "\"}]}";
    }

    /** The answer to a read of a key that does not exist. */
    public static final String NO_KEY = refused(0, "key \"test/a\" doesn't exist");

    /** The answer to a read. */
    public static String key(long created, long modified, String session, String value) {
        return "200 {\"Results\":[{\"KV\":{\"Key\":\"test/a\",\"CreateIndex\":" + created + ",\"ModifyIndex\":"
                + modified + ",\"Session\":\"" + session + "\",\"Value\":\"" + value + "\"}}]}";
    }

    @Override
    public String to(String path, String body) {
        Matcher locked = LOCKED.matcher(body);
        boolean locks = locked.find();
        String kind = kind(path, body, locks ? locked.group(1) : "");
        String answer = answer(kind, locks ? locked.group(1) : "");
        asked.add(kind + " " + path + " " + body);
        return answer;
    }

    private String answer(String kind, String locked) {
        String other = instead.getOrDefault(kind, new ConcurrentLinkedQueue<>()).poll();
        if (other == null) {
            other = always.get(kind);
        }
        if (other != null) {
            return other;
        }
        return switch (kind) {
            case "create" -> "200 {\"ID\":\"s-" + sessions.incrementAndGet() + "\"}";
            case "renew" -> "200 []";
            case "destroy" -> "200 true";
            case "status" -> "200 leader";
            case "read" -> NO_KEY;
            case "attempt", "epoch" -> {
                long at = index.incrementAndGet();
                yield "200 {\"Results\":[{\"KV\":{\"Key\":\"" + locked + "\",\"CreateIndex\":" + at
                        + ",\"ModifyIndex\":" + at + "}}]}";
            }
            default -> "200 {\"Results\":[]}";
        };
    }

    private static String kind(String path, String body, String locked) {
        if (path.startsWith("/v1/session/")) {
            return path.replaceFirst("\\?.*", "").split("/")[3];
        }
        if (path.startsWith("/v1/status/")) {
            return "status";
        }
        if (body.contains("\"get\"")) {
            return "read";
        }
        if (!locked.isEmpty()) {
            return locked.contains("~") ? "epoch" : "attempt";
        }
        return body.contains("delete-cas") ? "delete" : "check";
    }
}
