package dev.holdfast.lock.redis.internal.script;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Reads a script from its {@code .lua} resource, without comments and indentation, which need not go to a server. The line
 * {@code -- include: NAME} stands for the file {@code parts/NAME.lua}. A comment has a line of its own. Stateless.
 */
final class ScriptText {
    private static final String INCLUDE = "-- include: ";

    private ScriptText() {}

    /**
     * Returns the text of a script.
     *
     * @param name the file's, without {@code .lua}
     * @throws IllegalStateException if there is no such resource
     */
    static String read(String name) {
        StringBuilder text = new StringBuilder();
        append(name, text);
        return text.toString();
    }

    private static void append(String name, StringBuilder text) {
        for (String line : file(name).lines().map(String::strip).toList()) {
            if (line.startsWith(INCLUDE)) {
                append("parts/" + line.substring(INCLUDE.length()), text);
            } else if (!line.isEmpty() && !line.startsWith("--")) {
                text.append(line).append('\n');
            }
        }
    }

    private static String file(String name) {
        String file = name + ".lua";
        try (InputStream in = ScriptText.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("script " + file + " is missing beside " + ScriptText.class.getName()
                        + "; a repackaged jar or a native image must keep the .lua files of lock-redis");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read script " + file, e);
        }
    }
}
