package dev.holdfast.lock.redis;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The permissions that docs/redis.md asks for: the page says what is needed, and the tests that it is enough. */
public final class Permissions {
    private static final String LINE = "ACL SETUSER locks on >password ";
    private static final String LISTING = "ACL SETUSER locks +";

    private Permissions() {}

    public static List<String> documented() throws IOException {
        List<String> all = new ArrayList<>(after(LINE));
        after(LISTING).forEach(command -> all.add("+" + command));
        return all;
    }

    private static List<String> after(String start) throws IOException {
        String line = Files.readAllLines(Path.of("../docs/redis.md")).stream()
                .filter(each -> each.startsWith(start))
                .findFirst()
                .orElseThrow();
        return Arrays.asList(line.substring(start.length()).split(" "));
    }

    /** What the page asks for on a cluster, all of it. */
    public static List<String> ofCluster() throws IOException {
        String more = "ACL SETUSER locks &";
        String line = Files.readAllLines(Path.of("../docs/redis.md")).stream()
                .filter(each -> each.startsWith(more))
                .findFirst()
                .orElseThrow();
        List<String> all = new ArrayList<>(documented());
        all.addAll(Arrays.asList(line.substring(more.length() - 1).split(" ")));
        return all;
    }

    static List<String> withoutChannels() throws IOException {
        return documented().stream()
                .filter(each -> !each.startsWith("&") && !each.contains("publish") && !each.contains("subscribe"))
                .toList();
    }
}
